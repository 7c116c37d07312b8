#include "trainer/telemetry/run_log.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[1024];

static void use_folder(const char *name) {
    (void)snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
}

static void read_file(const char *name, struct buf *text) {
    char path[2048];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    buf_init(text, 1 << 20);
    CU_ASSERT_EQUAL(file_read(path, text, NULL), 0);
}

static void numbers_and_lines_of_the_log_are_kept(void) {
    const struct metric_field fields[] = {{"step", 20}, {"loss", 0.125}, {"lr", (double)NAN}};
    cleanup_buf struct buf log = {0}, numbers = {0};
    struct error err = {0};
    use_folder("made/new");
    run_log_add("train", fields, 3); /* nobody listens yet */
    run_log_begin();
    log_info("before it is opened");
    CU_ASSERT_EQUAL_FATAL(run_log_open(folder, &err), 0);
    log_warning("behind");
    run_log_add_json("run", "\"model\":\"resnet18\"");
    run_log_add("train", fields, 3);
    run_log_close();
    log_info("after it");
    run_log_add("train", fields, 3);
    read_file("run.log", &log);
    read_file("run.jsonl", &numbers);
    ASSERT_CONTAINS(buf_text(&log), "Z info    before it is opened\n");
    ASSERT_CONTAINS(buf_text(&log), "Z warning behind\n");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&log), "after it"));
    ASSERT_CONTAINS(buf_text(&numbers), "{\"kind\":\"run\",\"time\":\"20");
    ASSERT_CONTAINS(buf_text(&numbers), "Z\",\"model\":\"resnet18\"}\n");
    ASSERT_CONTAINS(buf_text(&numbers), "Z\",\"step\":20,\"loss\":0.125,\"lr\":null}\n");
    CU_ASSERT_PTR_NULL(strstr(strstr(buf_text(&numbers), "\"train\"") + 1, "\"train\""));
}

static void the_next_run_appends(void) {
    cleanup_buf struct buf numbers = {0};
    use_folder("twice");
    for (int i = 0; i < 2; i++) {
        run_log_begin();
        CU_ASSERT_EQUAL(run_log_open(folder, NULL), 0);
        run_log_add_json("run", i == 0 ? "\"n\":1" : "\"n\":2");
        run_log_close();
    }
    read_file("run.jsonl", &numbers);
    ASSERT_CONTAINS(buf_text(&numbers), "\"n\":1}\n{\"kind\":\"run\"");
    ASSERT_CONTAINS(buf_text(&numbers), "\"n\":2}\n");
}

/* A run that is killed within a line costs that line alone. */
static void a_torn_line_is_ended_before_the_next(void) {
    char path[2048];
    cleanup_buf struct buf numbers = {0};
    use_folder("torn");
    CU_ASSERT_EQUAL(file_make_dirs(folder, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/run.jsonl", folder);
    CU_ASSERT_EQUAL(file_put(path, "{\"kind\":\"tr", 11, 0644, NULL), 0);
    run_log_begin();
    CU_ASSERT_EQUAL_FATAL(run_log_open(folder, NULL), 0);
    run_log_add_json("run", "\"n\":1");
    run_log_close();
    read_file("run.jsonl", &numbers);
    ASSERT_CONTAINS(buf_text(&numbers), "{\"kind\":\"tr\n{\"kind\":\"run\"");
}

static void a_place_that_cannot_be_written_is_an_error_before_the_work(void) {
    char path[2048];
    struct error err = {0};
    use_folder("file");
    CU_ASSERT_EQUAL(file_put(folder, "x", 1, 0644, NULL), 0);
    run_log_begin();
    CU_ASSERT_EQUAL(run_log_open(folder, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    use_folder("taken");
    (void)snprintf(path, sizeof(path), "%s/run.jsonl/x", folder);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_EQUAL(run_log_open(folder, &err), -1);
    ASSERT_CONTAINS(err.text, "run.jsonl");
    run_log_close();
}

/* Nobody reads from it: the run is not held up until somebody does. */
static void a_pipe_that_nobody_reads_is_an_error_before_the_work(void) {
    char path[2048];
    struct error err = {0};
    use_folder("pipe");
    CU_ASSERT_EQUAL(file_make_dirs(folder, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/run.log", folder);
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    run_log_begin();
    CU_ASSERT_EQUAL(run_log_open(folder, &err), -1);
    ASSERT_CONTAINS(err.text, "run.log");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    run_log_close();
}

/* A full disk does not harm the run, and is reported once. */
static void what_cannot_be_written_is_warned_of_once(void) {
    char path[2048];
    cleanup_buf struct buf log = {0};
    const struct metric_field field = {"step", 1};
    use_folder("full");
    CU_ASSERT_EQUAL(file_make_dirs(folder, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/run.jsonl", folder);
    CU_ASSERT_EQUAL(symlink("/dev/full", path), 0);
    run_log_begin();
    CU_ASSERT_EQUAL(run_log_open(folder, NULL), 0);
    run_log_add("train", &field, 1);
    run_log_add("train", &field, 1);
    log_info("more");
    run_log_close();
    read_file("run.log", &log);
    CU_ASSERT_PTR_NULL(strstr(buf_text(&log), "more"));
}

UNIT_SUITE("telemetry.run_log", UNIT(numbers_and_lines_of_the_log_are_kept),
           UNIT(the_next_run_appends), UNIT(a_torn_line_is_ended_before_the_next),
           UNIT(a_place_that_cannot_be_written_is_an_error_before_the_work),
           UNIT(a_pipe_that_nobody_reads_is_an_error_before_the_work),
           UNIT(what_cannot_be_written_is_warned_of_once))
