#include "common/buf.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "tests/support/pty.h"
#include "tests/support/unit.h"
#include "trainer/app/options/options.h"
#include "trainer/app/run/report.h"
#include "trainer/app/task/score.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Replaces the library's function: time passes only when a test advances it. */
static int64_t passed = CLOCK_SECOND;

int clock_gettime(clockid_t clock, struct timespec *ret) {
    (void)clock;
    *ret = (struct timespec){.tv_sec = passed / CLOCK_SECOND, .tv_nsec = passed % CLOCK_SECOND};
    return 0;
}

static void step(struct report *r, double loss, int64_t images, bool skipped) {
    const double metrics[MODEL_METRICS_MAX] = {
        [METRIC_LOSS] = loss, [METRIC_SAMPLES] = (double)images, 0.25};
    report_step(r, metrics, images, skipped);
}

/* Two rows and an evaluation in the form LOG; the caller frees the text. */
static char *told(int log) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    struct report r;
    report_open(&r, out, log, model_find("resnet18"));
    struct report_row row = {.step = 2, .epoch = 0.5, .penalty = 0.25, .lr = 0.1};
    report_start(&r);
    step(&r, 2.0, 64, false);
    step(&r, (double)NAN, 64, true);
    step(&r, 3.0, 64, true);
    CU_ASSERT_EQUAL(report_row(&r, &row, NULL), 0);
    row.step = 4;
    CU_ASSERT_EQUAL(report_row(&r, &row, NULL), 0);
    step(&r, 1.5, 64, false);
    report_wait(&r, 1, 2);
    CU_ASSERT_EQUAL(report_row(&r, &row, NULL), 0);
    struct evaluation e = {.images = 860};
    evaluation_add(&e, "top1", 0.75);
    evaluation_add(&e, "top5", 1);
    evaluation_add(&e, "loss", 0.5);
    CU_ASSERT_EQUAL(report_evaluation(&r, &(struct report_weights){4, 1, 0}, &e, NULL), 0);
    report_done(&r);
    CU_ASSERT_EQUAL(fclose(out), 0);
    return text;
}

static int lines(const char *text) {
    int count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

static void rows_hold_the_mean_since_the_last_one(void) {
    char *text = told(OPTION_LOG_METRICS);
    ASSERT_CONTAINS(text, "train step=2 epoch=0.5 loss=2.5 top1=0.25 lr=0.1 images_per_second=");
    ASSERT_CONTAINS(text, " data_wait=0 skipped=2\n");
    ASSERT_CONTAINS(text, "train step=4 epoch=0.5 loss=1.5 top1=0.25 lr=0.1");
    ASSERT_CONTAINS(text, " skipped=0\n");
    ASSERT_CONTAINS(text, "eval epoch=1 top1=0.75 top5=1 loss=0.5 images=860 step=4\n");
    CU_ASSERT_EQUAL(lines(text), 3);
    free(text);
}

static void where_no_loss_is_finite_there_is_none(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    struct report r;
    struct report_row row = {.step = 2};
    report_open(&r, out, OPTION_LOG_METRICS, model_find("resnet18"));
    report_start(&r);
    step(&r, (double)INFINITY, 64, true);
    CU_ASSERT_EQUAL(report_row(&r, &row, NULL), 0);
    report_done(&r);
    CU_ASSERT_EQUAL(fclose(out), 0);
    ASSERT_CONTAINS(text, " loss=nan ");
    ASSERT_CONTAINS(text, " skipped=1\n");
    free(text);
}

static void the_table_has_one_head_and_percent_for_people(void) {
    char *text = told(OPTION_LOG_TABLE);
    CU_ASSERT_EQUAL(lines(text), 4);
    ASSERT_CONTAINS(text, " FinLoss       LR Top-1 %\n");
    ASSERT_CONTAINS(text, "2.7500 0.100000   25.00\n");
    ASSERT_CONTAINS(text, "evaluation: epoch 1, top-1 75.00 %, top-5 100.00 %");
    CU_ASSERT_PTR_NULL(strstr(text, "train step="));
    free(text);
}

/* What ROWS rows of MODEL look like in a window of 24 lines of so many COLUMNS. */
static const char *seen_on_a_terminal(const char *model, unsigned short columns, int rows) {
    struct pty pty = pty_open(columns);
    FILE *out = fdopen(dup(pty.terminal), "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    struct report r;
    report_open(&r, out, OPTION_LOG_AUTO, model_find(model));
    report_start(&r);
    for (int64_t i = 1; i <= rows; i++) {
        const struct report_row row = {.step = i, .lr = 0.1};
        step(&r, 2, 4, false);
        CU_ASSERT_EQUAL(report_row(&r, &row, NULL), 0);
        if (i == 2)
            CU_ASSERT_EQUAL(report_print(&r, "one\ntwo\n", NULL), 0);
    }
    report_done(&r);
    CU_ASSERT_EQUAL(fclose(out), 0);
    const char *seen = pty_seen(&pty);
    pty_close(&pty);
    return seen;
}

static int heads(const char *text) {
    int count = 0;
    for (; (text = strstr(text, "  Step  Epoch")) != NULL; text++)
        count++;
    return count;
}

static void on_a_terminal_the_head_is_always_to_be_seen(void) {
    /* With the head and two other lines twenty rows fill all but the line of the cursor. */
    CU_ASSERT_EQUAL(heads(seen_on_a_terminal("resnet18", 80, 20)), 1);
    const char *seen = seen_on_a_terminal("resnet18", 80, 43);
    CU_ASSERT_EQUAL(heads(seen), 3);
    const char *second = strstr(seen + 1, "  Step  Epoch");
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    ASSERT_CONTAINS(strchr(second, '\n'), "\n    21   0.00 ");
    CU_ASSERT_EQUAL(lines(seen) - lines(second), 23);
}

static void the_losses_of_a_detector_are_columns_as_far_as_they_fit(void) {
    const char *seen = seen_on_a_terminal("maskrcnn_tiny", 80, 1);
    ASSERT_CONTAINS(seen, " FinLoss       LR  Class    Box   Mask Object RPNBox\r\n");
    ASSERT_CONTAINS(seen, " 0.100000 0.2500 0.0000 0.0000 0.0000 0.0000\r\n");
    CU_ASSERT_EQUAL(strcspn(seen, "\r"), 79);
    ASSERT_CONTAINS(seen_on_a_terminal("maskrcnn_tiny", 65, 1), "LR  Class    Box   Mask\r\n");
    ASSERT_CONTAINS(seen_on_a_terminal("maskrcnn_tiny", 40, 1), " FinLoss       LR\r\n");
}

static void both_end_with_the_metric_line(void) {
    char *text = told(OPTION_LOG_BOTH);
    CU_ASSERT_EQUAL(lines(text), 7);
    const char *last = strstr(text, "eval epoch=");
    CU_ASSERT_PTR_NOT_NULL_FATAL(last);
    CU_ASSERT_EQUAL(lines(last), 1);
    free(text);
}

/* A network that reports more about its steps than the loss. */
static void what_a_network_tells_comes_behind_the_loss(void) {
    static const struct model_metric list[] = {
        [METRIC_LOSS] = {"loss", 0, METRIC_MEAN, true},
        [METRIC_SAMPLES] = {"images", 1, METRIC_SUM, true},
        {"loss_mask", 2, METRIC_MEAN, true},
        {"objects_dropped", 3, METRIC_SUM, true},
        {"of_scores", 4, METRIC_MEAN, false},
        {NULL, 0, METRIC_SUM, false},
    };
    const struct model model = {.name = "m", .task = MODEL_CLASSIFY, .metrics = list};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    struct report r;
    struct report_row row = {.step = 2, .lr = 0.5};
    report_open(&r, out, OPTION_LOG_METRICS, &model);
    report_start(&r);
    report_step(&r, (const double[MODEL_METRICS_MAX]){4, 64, 0.5, 3}, 64, false);
    report_step(&r, (const double[MODEL_METRICS_MAX]){2, 64, (double)NAN, 4}, 64, false);
    CU_ASSERT_EQUAL(report_row(&r, &row, NULL), 0);
    report_done(&r);
    CU_ASSERT_EQUAL(fclose(out), 0);
    ASSERT_CONTAINS(text, " loss=3 loss_mask=0.5 objects_dropped=7 lr=0.5 ");
    CU_ASSERT_PTR_NULL(strstr(text, "of_scores"));
    free(text);
}

static void objects_without_room_are_reported_where_there_are_objects(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    struct report r;
    struct report_row row = {.step = 2, .samples.dropped = 3};
    report_open(&r, out, OPTION_LOG_METRICS, model_find("maskrcnn_tiny"));
    report_start(&r);
    step(&r, 1, 4, false);
    CU_ASSERT_EQUAL(report_row(&r, &row, NULL), 0);
    report_done(&r);
    CU_ASSERT_EQUAL(fclose(out), 0);
    ASSERT_CONTAINS(text, " objects_dropped=3 lr=");
    free(text);
    text = told(OPTION_LOG_METRICS);
    CU_ASSERT_PTR_NULL(strstr(text, "objects_dropped"));
    free(text);
}

static void the_whole_run_is_summed_up(void) {
    struct report r;
    char text[REPORT_SUMMARY_MAX];
    report_open(&r, NULL, OPTION_LOG_BOTH, model_find("resnet18"));
    report_summary(&r, text);
    CU_ASSERT_STRING_EQUAL(text, "");
    passed += 5 * CLOCK_SECOND;
    report_start(&r);
    passed += 3 * CLOCK_SECOND;
    step(&r, 1, 60, false);
    CU_ASSERT_DOUBLE_EQUAL(r.standing.step_seconds, 3, 1e-9);
    passed += CLOCK_SECOND;
    step(&r, 1, 60, false);
    CU_ASSERT_DOUBLE_EQUAL(r.standing.step_seconds, 2.8, 1e-9); /* the last step counts a tenth */
    report_summary(&r, text);
    ASSERT_CONTAINS(text, "2 steps, 120 images in 0:04 of training, 30.0 images/s; 0:09 with");
    r.several = true;
    report_wait(&r, 0, CLOCK_SECOND);
    report_summary(&r, text);
    ASSERT_CONTAINS(text, "of training, 25.0 % of it waiting for other ranks, 30.0 images/s");
    report_wait(&r, 0, -1);
    report_summary(&r, text);
    ASSERT_CONTAINS(text, "of training, 30.0 images/s");
    report_done(&r);
}

/* COCO gives -1 if a set has no objects of a size; in other metrics -1 is a value. */
static void what_is_undefined_is_no_event(void) {
    struct report r;
    char folder[600], path[2048];
    cleanup_buf struct buf bytes = {.max = 1 << 16};
    struct evaluation e = {.images = 1};
    FILE *out = fopen("/dev/null", "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    snprintf(folder, sizeof(folder), "%s/undefined", unit_temp_dir());
    report_open(&r, out, OPTION_LOG_METRICS, model_find("maskrcnn_tiny"));
    CU_ASSERT_EQUAL_FATAL(board_open(&r.board, folder, true, NULL), 0);
    evaluation_add(&e, "bbox_mAP", 0.25);
    evaluation_add(&e, "bbox_APs", -1);
    evaluation_add(&e, "segm_APl", -1);
    evaluation_add(&e, "other", -1);
    CU_ASSERT_EQUAL(report_evaluation(&r, &(struct report_weights){4, 1, 0}, &e, NULL), 0);
    report_done(&r);
    CU_ASSERT_EQUAL(fclose(out), 0);
    glob_t found;
    snprintf(path, sizeof(path), "%s/eval/events*", folder);
    CU_ASSERT_EQUAL_FATAL(glob(path, 0, NULL, &found), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(found.gl_pathv[0], &bytes, NULL), 0);
    globfree(&found);
    CU_ASSERT_PTR_NOT_NULL(memmem(bytes.data, bytes.size, "bbox_mAP", 8));
    CU_ASSERT_PTR_NOT_NULL(memmem(bytes.data, bytes.size, "other", 5));
    CU_ASSERT_PTR_NULL(memmem(bytes.data, bytes.size, "APs", 3));
    CU_ASSERT_PTR_NULL(memmem(bytes.data, bytes.size, "APl", 3));
}

static void other_ranks_say_nothing(void) {
    struct report r;
    report_open(&r, NULL, OPTION_LOG_BOTH, model_find("resnet18"));
    struct report_row row = {.step = 1};
    report_start(&r);
    step(&r, 1, 1, false);
    CU_ASSERT_EQUAL(report_row(&r, &row, NULL), 0);
    struct evaluation e = {.images = 1};
    CU_ASSERT_EQUAL(report_evaluation(&r, &(struct report_weights){1, 1, 0}, &e, NULL), 0);
    report_done(&r);
}

UNIT_SUITE("app.report", UNIT(what_a_network_tells_comes_behind_the_loss),
           UNIT(objects_without_room_are_reported_where_there_are_objects),
           UNIT(where_no_loss_is_finite_there_is_none), UNIT(rows_hold_the_mean_since_the_last_one),
           UNIT(the_table_has_one_head_and_percent_for_people),
           UNIT(on_a_terminal_the_head_is_always_to_be_seen),
           UNIT(the_losses_of_a_detector_are_columns_as_far_as_they_fit),
           UNIT(both_end_with_the_metric_line), UNIT(the_whole_run_is_summed_up),
           UNIT(what_is_undefined_is_no_event), UNIT(other_ranks_say_nothing))
