#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/report/class_results.h"
#include "trainer/report/run_history.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add(struct run_history *h, const char *line) {
    CU_ASSERT_EQUAL_FATAL(run_history_line(h, line, strlen(line), NULL), 0);
}

static void add_step(struct run_history *h, int step, double loss) {
    char line[128];
    (void)snprintf(line, sizeof(line), "{\"kind\":\"train\",\"step\":%d,\"loss\":%g}", step, loss);
    add(h, line);
}

static void numbers_become_curves(void) {
    cleanup_run_history struct run_history h = {0};
    add(&h, "{\"kind\":\"run\",\"time\":\"2026-11-27T16:08:15.042Z\",\"ranks\":2}");
    add(&h, "{\"kind\":\"start\",\"step\":0}");
    add(&h, "{\"kind\":\"train\",\"step\":20,\"epoch\":1,\"loss\":0.5,\"learning_rate\":null,"
            "\"seconds\":9,\"training_seconds\":7,\"data_seconds\":1,\"ranks_seconds\":null}");
    add(&h, "{\"kind\":\"eval\",\"step\":20,\"loss\":0.25,\"note\":\"text\"}");
    add(&h, "{\"kind\":\"end\",\"step\":20,\"code\":143}");
    const struct history_curve *loss = run_history_curve(&h, "loss", false);
    CU_ASSERT_PTR_NOT_NULL_FATAL(loss);
    CU_ASSERT(loss->count == 1 && loss->points[0].step == 20 && loss->points[0].value == 0.5);
    CU_ASSERT(run_history_curve(&h, "loss", true)->points[0].value == 0.25);
    CU_ASSERT(isnan(run_history_curve(&h, "learning_rate", false)->points[0].value));
    CU_ASSERT_PTR_NULL(run_history_curve(&h, "seconds", false));
    CU_ASSERT_PTR_NULL(run_history_curve(&h, "epoch", false));
    CU_ASSERT_PTR_NULL(run_history_curve(&h, "note", true));
    CU_ASSERT_EQUAL_FATAL(h.attempt_count, 1);
    const struct history_attempt *a = &h.attempts[0];
    CU_ASSERT(a->ended && a->code == 143 && a->from == 0 && a->to == 20 && a->ranks == 2);
    CU_ASSERT(a->parts[HISTORY_TRAINING] == 7 && isnan(a->parts[HISTORY_RANKS]));
    CU_ASSERT_EQUAL(run_history_seconds(&h, HISTORY_ALL), 9);
    CU_ASSERT_EQUAL(run_history_seconds(&h, HISTORY_RANKS), 0);
}

/* A run that is killed after its last checkpoint repeats some steps. */
static void steps_that_were_lost_are_dropped(void) {
    cleanup_run_history struct run_history h = {0};
    add(&h, "{\"kind\":\"run\"}");
    add(&h, "{\"kind\":\"start\",\"step\":0}");
    for (int step = 10; step <= 50; step += 10)
        add_step(&h, step, 1);
    add(&h, "{\"kind\":\"run\"}");
    add(&h, "{\"kind\":\"start\",\"step\":30}");
    add_step(&h, 40, 2);
    const struct history_curve *loss = run_history_curve(&h, "loss", false);
    CU_ASSERT_EQUAL_FATAL(loss->count, 4);
    CU_ASSERT(loss->points[2].step == 30 && loss->points[3].step == 40);
    CU_ASSERT(loss->points[3].value == 2 && loss->last.value == 2);
    CU_ASSERT_EQUAL_FATAL(h.attempt_count, 2);
    CU_ASSERT(h.attempts[0].to == 50 && !h.attempts[0].ended && h.attempts[1].from == 30);
}

static const char *data_of(const struct run_history *h) {
    return json_string_value(json_object_get(h->run, "data"));
}

/* A command that was refused before its first step says nothing about the run in the folder. */
static void settings_are_those_of_the_last_process_that_trained(void) {
    cleanup_run_history struct run_history h = {0};
    add(&h, "{\"kind\":\"run\",\"data\":\"none yet\"}");
    CU_ASSERT_STRING_EQUAL(data_of(&h), "none yet");
    add(&h, "{\"kind\":\"run\",\"data\":\"good\"}");
    add(&h, "{\"kind\":\"start\",\"step\":0}");
    CU_ASSERT_PTR_NULL(h.next);
    for (int i = 0; i < 2; i++) {
        add(&h, "{\"kind\":\"run\",\"data\":\"refused\"}");
        add(&h, "{\"kind\":\"failure\",\"error\":\"no such folder\"}");
        add(&h, "{\"kind\":\"end\",\"step\":0,\"code\":66}");
        CU_ASSERT_STRING_EQUAL(data_of(&h), "good");
        CU_ASSERT_PTR_NOT_NULL(h.next);
    }
    add(&h, "{\"kind\":\"run\",\"data\":\"better\"}");
    CU_ASSERT_STRING_EQUAL(data_of(&h), "good");
    add(&h, "{\"kind\":\"start\",\"step\":5}");
    CU_ASSERT_STRING_EQUAL(data_of(&h), "better");
    CU_ASSERT_PTR_NULL(h.next);
}

static void a_long_curve_is_thinned(void) {
    cleanup_run_history struct run_history h = {0};
    for (int step = 1; step <= 3 * HISTORY_POINTS_MAX; step++)
        add_step(&h, step, step);
    const struct history_curve *loss = run_history_curve(&h, "loss", false);
    CU_ASSERT(loss->count < HISTORY_POINTS_MAX && loss->count > HISTORY_POINTS_MAX / 2);
    CU_ASSERT_EQUAL(loss->points[0].step, 1);
    CU_ASSERT_EQUAL(loss->last.step, 3 * HISTORY_POINTS_MAX);
    for (size_t i = 1; i < loss->count; i++)
        CU_ASSERT_EQUAL_FATAL(loss->points[i].step - loss->points[i - 1].step, 4);
}

static void what_is_no_line_of_ours_is_counted(void) {
    cleanup_run_history struct run_history h = {0};
    add(&h, "{\"kind\":\"tr");
    add(&h, "[]");
    add(&h, "{\"kind\":7}");
    add(&h, "{\"kind\":\"later\",\"what\":{}}"); /* of a newer version */
    add(&h, "{\"kind\":\"train\",\"step\":\"x\",\"loss\":1}");
    CU_ASSERT(h.bad == 3 && h.lines == 5 && h.curve_count == 0);
}

static void curves_and_attempts_are_bounded(void) {
    cleanup_run_history struct run_history h = {0};
    char line[128];
    for (int i = 0; i < 2 * HISTORY_CURVES_MAX; i++) {
        (void)snprintf(line, sizeof(line), "{\"kind\":\"train\",\"step\":1,\"n%d\":1}", i);
        add(&h, line);
    }
    CU_ASSERT_EQUAL(h.curve_count, HISTORY_CURVES_MAX);
    for (int i = 0; i < HISTORY_ATTEMPTS_MAX + 5; i++)
        add(&h, "{\"kind\":\"run\"}");
    CU_ASSERT(h.attempt_count == HISTORY_ATTEMPTS_MAX && h.attempts_dropped == 5);
}

static void a_file_is_read_up_to_its_last_whole_line(void) {
    cleanup_run_history struct run_history h = {0};
    cleanup_buf struct buf text = {.max = 8 << 20};
    char path[1024];
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/run.jsonl", unit_temp_dir());
    CU_ASSERT_EQUAL(run_history_read(&h, path, &err), -1);
    CU_ASSERT_EQUAL(err.os_errno, ENOENT);
    CU_ASSERT_EQUAL(buf_add_text(&text, "{\"kind\":\"run\"}\n\n{\"kind\":\"", NULL), 0);
    for (int i = 0; i < 3 << 20; i += 16) /* longer than any line of ours */
        CU_ASSERT_EQUAL_FATAL(buf_add_text(&text, "xxxxxxxxxxxxxxxx", NULL), 0);
    CU_ASSERT_EQUAL(buf_add_text(&text, "\"}\n{\"kind\":\"run\"}\n{\"kind\":\"run\"", NULL), 0);
    CU_ASSERT_EQUAL(file_put(path, text.data, text.size, 0644, NULL), 0);
    CU_ASSERT_EQUAL(run_history_read(&h, path, &err), 0);
    CU_ASSERT(h.attempt_count == 2 && h.bad == 1);
    CU_ASSERT_EQUAL(run_history_read(&h, unit_temp_dir(), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

static void cells_that_name_no_row_are_left_out(void) {
    cleanup_run_history struct run_history h = {0};
    cleanup_class_results struct class_results c = {0};
    CU_ASSERT_EQUAL_FATAL(class_results_read(&c, &h, NULL), 0);
    CU_ASSERT(c.row_count == 0 && c.metric[0] == '\0');
    class_results_done(&c);
    add(&h, "{\"kind\":\"classes\",\"step\":5,\"metric\":\"top1\",\"rows\":[[\"cat\",4,0.5],7,"
            "[\"dog\",2,null]],\"cells\":[[0,2,3],[0,3,1],[-1,0,1],[0,0,\"x\"],[1.5,0,1],[]]}");
    CU_ASSERT_EQUAL_FATAL(class_results_read(&c, &h, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(c.row_count, 3);
    CU_ASSERT(c.rows[0].count == 4 && c.rows[0].value == 0.5 && isnan(c.rows[2].value));
    CU_ASSERT_STRING_EQUAL(c.rows[1].name, "?");
    CU_ASSERT_EQUAL_FATAL(c.cell_count, 1);
    CU_ASSERT(c.cells[0].label == 0 && c.cells[0].answer == 2 && c.cells[0].count == 3);
}

UNIT_SUITE("report.run_history", UNIT(numbers_become_curves),
           UNIT(steps_that_were_lost_are_dropped), UNIT(a_long_curve_is_thinned),
           UNIT(settings_are_those_of_the_last_process_that_trained),
           UNIT(what_is_no_line_of_ours_is_counted), UNIT(curves_and_attempts_are_bounded),
           UNIT(a_file_is_read_up_to_its_last_whole_line),
           UNIT(cells_that_name_no_row_are_left_out))
