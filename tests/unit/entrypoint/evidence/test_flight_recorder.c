#include "entrypoint/evidence/flight_recorder.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "tests/support/printed.h"
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char stem[512];
static char fifo[512];
static int64_t patience;

static int run(int argc, char *const *argv, struct error *err) {
    (void)argc;
    (void)argv;
    (void)err;
    return flight_recorder_print(stem, fifo, 3, clock_now() + patience);
}

static const char *new_folder(void) {
    static char folder[256];
    static unsigned count;
    (void)snprintf(folder, sizeof(folder), "%s/recorder-%u", unit_temp_dir(), count++);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    (void)snprintf(stem, sizeof(stem), "%s/trace_", folder);
    (void)snprintf(fifo, sizeof(fifo), "%s/dump_", folder);
    return folder;
}

static int print(struct buf *ret) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/printed", unit_temp_dir());
    int result = printed_to(path, run, 0, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(file_read(path, ret, NULL), 0);
    return result;
}

/* Stands in for a process group of PyTorch: writes its file when a byte comes through its FIFO. */
static pid_t record(const char *folder) {
    char path[600];
    char byte = 0;
    (void)snprintf(path, sizeof(path), "%s3.pipe", fifo);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) {
        if (read(fd, &byte, 1) == 1)
            tree_put(folder, ".", "trace_3", "what it did");
        _exit(byte == '1' ? 0 : 1);
    }
    (void)close(fd);
    return pid;
}

static void a_rank_is_asked_for_its_file(void) {
    int status = 1;
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    const char *folder = new_folder();
    tree_put(folder, ".", "trace_3", "of an earlier time");
    patience = 60 * CLOCK_SECOND;
    pid_t child = record(folder);
    CU_ASSERT_EQUAL(print(&text), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "what it did");
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
}

/* The file was written at a timeout by a process that has ended: nobody reads from the FIFO. */
static void a_file_that_is_there_is_taken(void) {
    char path[600];
    cleanup_buf struct buf text;
    buf_init(&text, 4096);
    const char *folder = new_folder();
    tree_put(folder, ".", "trace_3", "at its time-out");
    (void)snprintf(path, sizeof(path), "%s3.pipe", fifo);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    patience = 60 * CLOCK_SECOND;
    CU_ASSERT_EQUAL(print(&text), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "at its time-out");
}

static void a_rank_that_does_not_write_has_its_time(void) {
    cleanup_buf struct buf text;
    char path[600];
    buf_init(&text, 4096);
    (void)new_folder();
    (void)snprintf(path, sizeof(path), "%s3.pipe", fifo);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    cleanup_fd int reader = open(path, O_RDWR | O_CLOEXEC);
    patience = CLOCK_MILLISECOND;
    CU_ASSERT_EQUAL(print(&text), 1);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "");
    /* A path that is not a FIFO gets no byte, and a link is not read as a file. */
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(file_put(path, "", 0, 0600, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s3", stem);
    CU_ASSERT_EQUAL(symlink("/etc/hostname", path), 0);
    CU_ASSERT_EQUAL(print(&text), 1);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "");
}

static void names_are_set_where_the_program_has_none(void) {
    struct flight_recorder r;
    cleanup_argv struct argv environment = {0};
    static char own[] = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/mine/p_";
    static char off[] = "TORCH_NCCL_TRACE_BUFFER_SIZE=0";
    char *const none[] = {NULL};
    char *const set[] = {own, NULL};
    char *const without[] = {own, off, NULL};
    flight_recorder_find(none, "/run/x", false, &r);
    CU_ASSERT_STRING_EQUAL(r.fifo, "");
    CU_ASSERT_EQUAL(flight_recorder_add(&r, &environment, NULL), 0);
    CU_ASSERT_EQUAL(environment.count, 0);
    flight_recorder_find(without, "/run/x", true, &r);
    CU_ASSERT_STRING_EQUAL(r.file, "");
    flight_recorder_find(set, "/run/x", false, &r);
    CU_ASSERT_STRING_EQUAL(r.fifo, "/mine/p_");
    flight_recorder_find(none, "/run/x", true, &r);
    CU_ASSERT_STRING_EQUAL(r.file, "/run/x/nccl_trace_rank_");
    CU_ASSERT_STRING_EQUAL(r.fifo, "/run/x/nccl_dump_");
    CU_ASSERT_EQUAL(argv_add(&environment, off, NULL), 0);
    CU_ASSERT_EQUAL(flight_recorder_add(&r, &environment, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "TORCH_NCCL_TRACE_BUFFER_SIZE"), "0");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "TORCH_FR_DUMP_TEMP_FILE"),
                           "/run/x/nccl_trace_rank_");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "TORCH_NCCL_DUMP_ON_TIMEOUT"), "1");
}

UNIT_SUITE("evidence.flight_recorder", UNIT(a_rank_is_asked_for_its_file),
           UNIT(a_file_that_is_there_is_taken), UNIT(a_rank_that_does_not_write_has_its_time),
           UNIT(names_are_set_where_the_program_has_none))
