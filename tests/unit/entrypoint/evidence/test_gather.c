#include "entrypoint/evidence/gather.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(void) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)raise(SIGSTOP);
        _exit(1);
    }
    CU_ASSERT_EQUAL_FATAL(waitpid(pid, NULL, WUNTRACED), pid);
    return pid;
}

static void end(pid_t pid) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Gathers, and returns the findings as an array. */
static json_t *gather(const struct gather_order *order) {
    char *text = NULL;
    size_t size = 0;
    struct error err = {0};
    json_t *list = json_array();
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_EQUAL(gather_all(order, out, &err), 0);
    (void)fclose(out);
    for (char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
        json_t *object = NULL;
        CU_ASSERT_EQUAL_FATAL(json_parse(line, strcspn(line, "\n"), "a line", &object, NULL), 0);
        (void)json_array_append_new(list, object);
    }
    free(text);
    return list;
}

/* This process plays the shim: what it has started is the rank. */
static void ranks_are_found_and_files_written(void) {
    struct gather_order o = {
        .host = "algo-1", .milliseconds = 10000, .ranks = {{3, getpid()}}, .rank_count = 1};
    char path[PATH_MAX];
    (void)snprintf(o.folder, sizeof(o.folder), "%s/data/evidence-1", unit_temp_dir());
    pid_t child = start();
    cleanup_json json_t *found = gather(&o);
    end(child);
    CU_ASSERT_EQUAL_FATAL(json_array_size(found), 2);
    const json_t *rank = json_array_get(found, 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(rank, "rank")), 3);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(rank, "place")),
                           "stopped by a signal");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(rank, "collective")), "");
    const json_t *total = json_array_get(found, 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(total, "files")), 3);
    CU_ASSERT(json_integer_value(json_object_get(total, "bytes")) > 0);
    static const char *const names[] = {"algo-1-rank-3-threads.txt", "algo-1-rank-3-stacks.txt",
                                        "algo-1-state.txt"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", o.folder, names[i]);
        CU_ASSERT_EQUAL(access(path, R_OK), 0);
    }
}

/* There is no time for stacks before the ranks are ended. */
static void a_quick_order_leaves_slow_rows_out(void) {
    struct gather_order o = {.host = "algo-1", .milliseconds = 10000, .quick = true};
    (void)snprintf(o.folder, sizeof(o.folder), "%s", unit_temp_dir());
    cleanup_json json_t *found = gather(&o);
    CU_ASSERT_EQUAL_FATAL(json_array_size(found), 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(found, 0), "files")), 1);
}

/* No job creates /opt/ml on a machine without it. */
static void without_the_jobs_folder_no_file_is_written(void) {
    struct gather_order o = {
        .host = "algo-1", .milliseconds = 10000, .ranks = {{3, getpid()}}, .rank_count = 1};
    (void)snprintf(o.base, sizeof(o.base), "%s/none", unit_temp_dir());
    (void)snprintf(o.folder, sizeof(o.folder), "%s/none/data/evidence-1", unit_temp_dir());
    pid_t child = start();
    cleanup_json json_t *found = gather(&o);
    end(child);
    CU_ASSERT_NOT_EQUAL(access(o.base, F_OK), 0);
    CU_ASSERT_EQUAL_FATAL(json_array_size(found), 2);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(found, 0), "rank")), 3);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(found, 1), "files")), 0);
}

static void a_folder_that_cannot_be_made_is_an_error(void) {
    struct gather_order o = {.host = "algo-1", .milliseconds = 10, .folder = "/proc/none/here"};
    struct error err = {0};
    CU_ASSERT_EQUAL(gather_all(&o, stdout, &err), -1);
    ASSERT_CONTAINS(err.text, "/proc");
}

static void without_an_order_it_does_not_run(void) {
    const char *const words[] = {NULL};
    const char *const bad[] = {"x", NULL};
    struct error err = {0};
    CU_ASSERT_EQUAL(gather_run(words, &err), -1);
    ASSERT_CONTAINS(err.text, "is started by a supervisor");
    CU_ASSERT_EQUAL(gather_run(bad, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("evidence.gather", UNIT(ranks_are_found_and_files_written),
           UNIT(without_the_jobs_folder_no_file_is_written),
           UNIT(a_quick_order_leaves_slow_rows_out), UNIT(a_folder_that_cannot_be_made_is_an_error),
           UNIT(without_an_order_it_does_not_run))
