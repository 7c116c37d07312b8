#include "common/system/progress.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path_in_temp(const char *name) {
    static char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static void another_process_sees_the_marks(void) {
    struct error err;
    struct progress supervisor;
    char path[32];
    int fd = progress_create(&err);
    CU_ASSERT_FATAL(fd >= 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CU_ASSERT_EQUAL_FATAL(progress_adopt(&supervisor, fd, &err), 0);
    CU_ASSERT_EQUAL(progress_read(&supervisor).marks, 0);
    pid_t child = fork();
    if (child == 0) {
        struct progress program;
        if (progress_open(&program, path, &err) != 0)
            _exit(1);
        progress_total(&program, 90);
        progress_mark(&program, 7, 30);
        progress_work(&program, 500, 20);
        progress_work(&program, 300, 5);
        progress_mark(&program, 8, 120);
        _exit(0);
    }
    int status = 1;
    (void)waitpid(child, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    struct progress_state state = progress_read(&supervisor);
    CU_ASSERT_EQUAL(state.marks, 2);
    CU_ASSERT_EQUAL(state.step, 8);
    CU_ASSERT_EQUAL(state.patience_seconds, 120);
    CU_ASSERT_EQUAL(state.work_ns, 800);
    CU_ASSERT_EQUAL(state.data_ns, 25);
    CU_ASSERT_EQUAL(state.total, 90);
    progress_done(&supervisor);
    CU_ASSERT_PTR_NULL(supervisor.slot);
    progress_mark(&supervisor, 9, 1);
    progress_work(&supervisor, 9, 1);
    progress_total(&supervisor, 9);
    CU_ASSERT_EQUAL(progress_read(&supervisor).marks, 0);
    progress_done(&supervisor);
    (void)close(fd);
}

static void without_a_path_marks_go_nowhere(void) {
    struct error err;
    struct progress program;
    memset(&program, 0xff, sizeof(program));
    CU_ASSERT_EQUAL(progress_open(&program, NULL, &err), 0);
    CU_ASSERT_PTR_NULL(program.slot);
    progress_mark(&program, 1, 1);
    CU_ASSERT_EQUAL(progress_read(&program).marks, 0);
    progress_done(&program);
}

static void a_file_of_another_size_is_refused(void) {
    struct error err;
    struct progress program;
    const char *path = path_in_temp("other");
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs("short", file);
    (void)fclose(file);
    CU_ASSERT_EQUAL(progress_open(&program, path, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "not a progress descriptor");
}

/* A process that shrinks memory mapped by another one ends that process with SIGBUS. */
static void nobody_takes_the_memory_away(void) {
    struct error err;
    struct progress p;
    int fd = progress_create(&err);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(ftruncate(fd, 0), -1);
    CU_ASSERT_EQUAL(progress_adopt(&p, fd, &err), 0);
    CU_ASSERT_EQUAL(progress_read(&p).marks, 0);
    progress_done(&p);
    (void)close(fd);
    fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_EQUAL(ftruncate(fd, 64), 0);
    memset(&p, 0xff, sizeof(p));
    CU_ASSERT_EQUAL(progress_adopt(&p, fd, &err), -1);
    CU_ASSERT_PTR_NULL(p.slot);
    (void)close(fd);
    CU_ASSERT_EQUAL(progress_adopt(&p, fd, &err), -1);
    ASSERT_CONTAINS(err.text, "not a progress descriptor");
}

static void a_descriptor_that_was_not_inherited_is_no_error(void) {
    struct error err;
    struct progress program;
    CU_ASSERT_EQUAL(progress_open(&program, "/proc/self/fd/987", &err), 0);
    progress_mark(&program, 1, 1);
    CU_ASSERT_PTR_NULL(program.slot);
}

UNIT_SUITE("common.progress", UNIT(another_process_sees_the_marks),
           UNIT(without_a_path_marks_go_nowhere), UNIT(a_file_of_another_size_is_refused),
           UNIT(nobody_takes_the_memory_away),
           UNIT(a_descriptor_that_was_not_inherited_is_no_error))
