#include "common/progress.h"

#include "support/unit.h"

#include <stdio.h>
#include <string.h>
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
    const char *path = path_in_temp("slot");
    CU_ASSERT_EQUAL_FATAL(progress_create(&supervisor, path, &err), 0);
    CU_ASSERT_EQUAL(progress_read(&supervisor).marks, 0);
    pid_t child = fork();
    if (child == 0) {
        struct progress program;
        if (progress_open(&program, path, &err) != 0)
            _exit(1);
        progress_mark(&program, 7, 30);
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
    progress_done(&supervisor);
}

static void without_a_path_marks_go_nowhere(void) {
    struct error err;
    struct progress program;
    CU_ASSERT_EQUAL(progress_open(&program, NULL, &err), 0);
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
    ASSERT_CONTAINS(err.text, "not a progress file");
}

static void creating_starts_from_nothing(void) {
    struct error err;
    struct progress p;
    const char *path = path_in_temp("again");
    CU_ASSERT_EQUAL_FATAL(progress_create(&p, path, &err), 0);
    progress_mark(&p, 3, 3);
    progress_done(&p);
    CU_ASSERT_EQUAL_FATAL(progress_create(&p, path, &err), 0);
    CU_ASSERT_EQUAL(progress_read(&p).marks, 0);
    progress_done(&p);
}

UNIT_MAIN("common.progress", UNIT(another_process_sees_the_marks),
          UNIT(without_a_path_marks_go_nowhere), UNIT(a_file_of_another_size_is_refused),
          UNIT(creating_starts_from_nothing))
