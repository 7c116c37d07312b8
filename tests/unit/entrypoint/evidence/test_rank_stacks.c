#include "entrypoint/evidence/rank_stacks.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "tests/support/printed.h"
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static pid_t shim;
static int64_t seconds;

/* An empty folder for the tools of one case. */
static const char *new_folder(void) {
    static char path[PATH_MAX];
    static unsigned count;
    (void)snprintf(path, sizeof(path), "%s/tools-%u", unit_temp_dir(), count++);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    return path;
}

/* Starts a process that stops itself, or one that waits. */
static pid_t start(bool stops) {
    int ends[2];
    char ready = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)!write(ends[1], "x", 1);
        if (stops)
            (void)raise(SIGSTOP);
        for (;;)
            (void)pause();
    }
    CU_ASSERT_EQUAL(read(ends[0], &ready, 1), 1);
    if (stops)
        (void)waitpid(pid, NULL, WUNTRACED);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return pid;
}

static void end(pid_t pid) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Puts a script into FOLDER as the tool NAME. */
static void put_tool(const char *folder, const char *name, const char *script) {
    char path[PATH_MAX];
    tree_put(folder, ".", name, script);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL(chmod(path, 0755), 0);
}

static int run(int argc, char *const *argv, struct error *err) {
    (void)argc;
    (void)argv;
    (void)err;
    return rank_stacks_print(shim, clock_now() + seconds * CLOCK_SECOND);
}

static int print(const char *path, struct buf *ret) {
    char file[PATH_MAX];
    (void)snprintf(file, sizeof(file), "%s/printed", unit_temp_dir());
    (void)setenv("PATH", path, 1);
    shim = getpid();
    int result = printed_to(file, run, 0, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(file_read(file, ret, NULL), 0);
    return result;
}

static void the_first_tool_is_asked(void) {
    const char *folder = new_folder();
    char expected[128];
    cleanup_buf struct buf text;
    buf_init(&text, 64 * 1024);
    put_tool(folder, "eu-stack", "#!/bin/sh\necho \"TID 1: $*\"\n");
    put_tool(folder, "gdb", "#!/bin/sh\necho gdb\n");
    pid_t child = start(false);
    seconds = 60;
    CU_ASSERT_EQUAL(print(folder, &text), 0);
    (void)snprintf(expected, sizeof(expected), "/eu-stack\nTID 1: -n 64 -p %d\n", (int)child);
    ASSERT_CONTAINS(buf_text(&text), expected);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "gdb\n"));
    end(child);
}

static void gdb_shows_no_arguments(void) {
    const char *folder = new_folder();
    cleanup_argv struct argv tool = {0};
    put_tool(folder, "gdb", "#!/bin/sh\n");
    CU_ASSERT_TRUE_FATAL(rank_stacks_tool(71, true, folder, &tool));
    bool hides = false;
    for (size_t i = 0; i < tool.count; i++)
        hides |= strcmp(tool.items[i], "set print frame-arguments none") == 0;
    CU_ASSERT_TRUE(hides);
    CU_ASSERT_STRING_EQUAL(tool.items[tool.count - 1], "71");
}

/* py-spy works only on Python programs, and this program is not one. */
static void py_spy_is_for_python(void) {
    const char *folder = new_folder();
    cleanup_argv struct argv tool = {0};
    put_tool(folder, "py-spy", "#!/bin/sh\n");
    CU_ASSERT_FALSE(rank_stacks_tool(getpid(), false, folder, &tool));
    CU_ASSERT_FALSE(rank_stacks_tool(getpid(), true, folder, &tool));
}

static void without_a_tool_the_kernel_is_asked(void) {
    cleanup_buf struct buf text;
    char expected[64];
    buf_init(&text, 64 * 1024);
    pid_t child = start(false);
    seconds = 60;
    CU_ASSERT_EQUAL(print(new_folder(), &text), 0);
    (void)snprintf(expected, sizeof(expected), "\nthread %d: comm: ", (int)child);
    ASSERT_CONTAINS(buf_text(&text), expected);
    end(child);
}

/* For example, it may not trace the process, or needs more memory than it is allowed. */
static void a_tool_that_fails_leaves_it_to_the_kernel(void) {
    const char *folder = new_folder();
    cleanup_buf struct buf text;
    char expected[64];
    buf_init(&text, 64 * 1024);
    put_tool(folder, "eu-stack", "#!/bin/sh\necho \"memory $(ulimit -d)\"\nexit 1\n");
    pid_t child = start(false);
    seconds = 60;
    CU_ASSERT_EQUAL(print(folder, &text), 0);
    ASSERT_CONTAINS(buf_text(&text), "/eu-stack\nmemory 262144\n");
    (void)snprintf(expected, sizeof(expected), "\nthread %d: comm: ", (int)child);
    ASSERT_CONTAINS(buf_text(&text), expected);
    end(child);
}

/* A tool would wait for it, and the stop itself is the finding. */
static void a_stopped_process_is_left_alone(void) {
    const char *folder = new_folder();
    cleanup_buf struct buf text;
    buf_init(&text, 64 * 1024);
    put_tool(folder, "gdb", "#!/bin/sh\necho gdb\n");
    pid_t child = start(true);
    seconds = 60;
    CU_ASSERT_EQUAL(print(folder, &text), 0);
    ASSERT_CONTAINS(buf_text(&text), "\nstopped by a signal\n");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "gdb"));
    end(child);
}

/* The tool leaves the process stopped when it is killed. */
static void a_tool_that_hangs_is_killed_and_the_process_goes_on(void) {
    const char *folder = new_folder();
    cleanup_buf struct buf text;
    int status = 0;
    buf_init(&text, 64 * 1024);
    put_tool(folder, "eu-stack", "#!/bin/sh\nkill -STOP \"$4\"\necho begun\nwhile :; do :; done\n");
    pid_t child = start(false);
    seconds = 2;
    CU_ASSERT_EQUAL(print(folder, &text), 0);
    ASSERT_CONTAINS(buf_text(&text), "begun\n(the tool was killed at its deadline)\n");
    CU_ASSERT_EQUAL(waitpid(child, &status, WCONTINUED), child);
    CU_ASSERT(WIFCONTINUED(status));
    end(child);
}

static void no_process_is_reported(void) {
    cleanup_buf struct buf text;
    buf_init(&text, 64 * 1024);
    seconds = 60;
    CU_ASSERT_EQUAL(print(new_folder(), &text), 1);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "");
}

UNIT_SUITE("evidence.rank_stacks", UNIT(the_first_tool_is_asked), UNIT(gdb_shows_no_arguments),
           UNIT(py_spy_is_for_python), UNIT(without_a_tool_the_kernel_is_asked),
           UNIT(a_tool_that_fails_leaves_it_to_the_kernel), UNIT(a_stopped_process_is_left_alone),
           UNIT(a_tool_that_hangs_is_killed_and_the_process_goes_on), UNIT(no_process_is_reported))
