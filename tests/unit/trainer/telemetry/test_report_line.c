#include "common/clock.h"
#include "common/text/metric_line.h"
#include "tests/support/unit.h"
#include "trainer/telemetry/report_line.h"

#include <regex.h>
#include <string.h>

static const struct metric_field of_classes[] = {{"top1", 0.9125}, {"top5", 1}, {"loss", 0.31}};
static const struct table_row row = {.step = 20,
                                     .epoch = 1.25,
                                     .speed = 812.5,
                                     .loss = 2.302585,
                                     .final_loss = 2.4,
                                     .lr = 0.1,
                                     .data_wait = 0.015,
                                     .skipped = 3};
static const struct eval_figures figures = {
    .epoch = 3, .list = of_classes, .count = 3, .images = 400};

static void the_lines_have_the_documented_form(void) {
    cleanup_buf struct buf train;
    cleanup_buf struct buf eval;
    buf_init(&train, 1024);
    buf_init(&eval, 1024);
    CU_ASSERT_EQUAL(report_line_train(&train, &row, NULL), 0);
    CU_ASSERT_EQUAL(report_line_eval(&eval, &figures, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&train), "train step=20 epoch=1.25 loss=2.30259 lr=0.1 "
                                             "images_per_second=812.5 data_wait=0.015 skipped=3");
    CU_ASSERT_STRING_EQUAL(buf_text(&eval), "eval epoch=3 top1=0.9125 top5=1 loss=0.31 images=400");
}

static void several_ranks_tell_how_long_they_waited(void) {
    cleanup_buf struct buf out = {.max = 1024};
    struct table_row several = row;
    several.several = true;
    several.comm_wait = 0.25;
    CU_ASSERT_EQUAL(report_line_train(&out, &several, NULL), 0);
    ASSERT_CONTAINS(buf_text(&out), " data_wait=0.015 comm_wait=0.25 skipped=3");
}

static void an_evaluation_names_its_weights(void) {
    cleanup_buf struct buf out = {.max = 1024};
    struct eval_figures of_step = figures;
    of_step.step = 60;
    of_step.saved_at = 1764259695 * CLOCK_SECOND + 5;
    CU_ASSERT_EQUAL(report_line_eval(&out, &of_step, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "eval epoch=3 top1=0.9125 top5=1 loss=0.31 images=400 "
                                           "step=60 checkpoint_time=2025-11-27T16:08:15Z");
}

static void an_epoch_has_a_line(void) {
    cleanup_buf struct buf out = {.max = 1024};
    const struct epoch_summary times = {12.5, 640, 0.5, 2};
    CU_ASSERT_EQUAL(report_line_epoch(&out, 3, &times, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "epoch epoch=3 seconds=12.5 images_per_second=640 "
                                           "checkpoint_seconds=0.5 eval_seconds=2");
}

static void faults_of_the_data_are_counted_once_there_are_some(void) {
    cleanup_buf struct buf out;
    struct table_row damaged = row;
    struct eval_figures both = figures;
    buf_init(&out, 1024);
    damaged.faults.damaged = 7;
    both.faults = (struct file_faults){.bad = 2, .damaged = 1};
    CU_ASSERT_EQUAL(report_line_train(&out, &damaged, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "train step=20 epoch=1.25 loss=2.30259 lr=0.1 "
                                           "images_per_second=812.5 data_wait=0.015 skipped=3 "
                                           "damaged_files=7");
    buf_consume(&out, out.size);
    CU_ASSERT_EQUAL(report_line_eval(&out, &both, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "eval epoch=3 top1=0.9125 top5=1 loss=0.31 images=400 "
                                           "bad_files=2 damaged_files=1");
}

/* What a network that finds objects tells. */
static void add_lines_of_objects(struct buf *lines) {
    static const struct metric_field losses[] = {
        {"loss_classifier", 0.5},  {"loss_box_reg", 0.25},  {"loss_mask", 0.75},
        {"loss_objectness", 1e-9}, {"loss_rpn_box_reg", 0}, {"label_accuracy", 0.875},
        {"objects_dropped", 12}};
    static const struct metric_field scores[] = {
        {"bbox_mAP", 0.371}, {"bbox_AP50", 0.585}, {"bbox_AP75", 0.4}, {"bbox_APs", -1},
        {"bbox_APm", 0.5},   {"bbox_APl", 0.5},    {"bbox_AR1", 1},    {"bbox_AR10", 1},
        {"bbox_AR100", 1},   {"bbox_ARs", -1},     {"bbox_ARm", 0.9},  {"bbox_ARl", 0.8},
        {"segm_mAP", 0.341}, {"segm_AP50", 0.555}, {"segm_AP75", 0.1}, {"segm_APs", 0.2},
        {"segm_APm", 0.3},   {"segm_APl", 0.4},    {"segm_AR1", 0.6},  {"segm_AR10", 0.6},
        {"segm_AR100", 0.6}, {"segm_ARs", 0.5},    {"segm_ARm", 0.4},  {"segm_ARl", 0.3}};
    struct table_row of_losses = row;
    const struct eval_figures of_scores = {.epoch = 1, .list = scores, .count = 24, .images = 9};
    of_losses.more = losses;
    of_losses.more_count = 7;
    of_losses.several = true;
    CU_ASSERT_EQUAL(buf_add_text(lines, "\n", NULL), 0);
    CU_ASSERT_EQUAL(report_line_train(lines, &of_losses, NULL), 0);
    ASSERT_CONTAINS(buf_text(lines), " loss=2.30259 loss_classifier=0.5 loss_box_reg=0.25 ");
    CU_ASSERT_EQUAL(buf_add_text(lines, "\n", NULL), 0);
    CU_ASSERT_EQUAL(report_line_eval(lines, &of_scores, NULL), 0);
}

/* POSIX has no (?: ); the plain group in its place moves no group that matters. */
static void make_posix(const char *python, char *out, size_t size) {
    size_t at = 0;
    for (const char *p = python; *p != '\0' && at + 1 < size; p++) {
        out[at++] = *p;
        if (strncmp(p, "(?:", 3) == 0)
            p += 2;
    }
    out[at] = '\0';
}

static void every_metric_definition_matches_one_of_them(void) {
    cleanup_buf struct buf lines;
    size_t count;
    const struct metric_definition *definitions = metric_line_definitions(&count);
    buf_init(&lines, 4096);
    CU_ASSERT_EQUAL(report_line_train(&lines, &row, NULL), 0);
    CU_ASSERT_EQUAL(buf_add_text(&lines, "\n", NULL), 0);
    CU_ASSERT_EQUAL(report_line_eval(&lines, &figures, NULL), 0);
    add_lines_of_objects(&lines);
    CU_ASSERT(count <= 40); /* as many as a training job may define */
    for (size_t i = 0; i < count; i++) {
        char pattern[512];
        regex_t regex;
        make_posix(definitions[i].regex, pattern, sizeof(pattern));
        CU_ASSERT_EQUAL_FATAL(regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE), 0);
        CU_ASSERT_EQUAL(regexec(&regex, buf_text(&lines), 0, NULL, 0), 0);
        regfree(&regex);
    }
}

static struct buf text;

static const char *row_text(struct table_row at) {
    buf_done(&text);
    buf_init(&text, 1024);
    CU_ASSERT_EQUAL(report_line_row(&text, &at, NULL), 0);
    return buf_text(&text);
}

static const struct metric_column of_steps[] = {
    {"top1", "Top-1 %", 100, 2}, {"loss_mask", "Mask", 1, 4}, {NULL, NULL, 0, 0}};

static const char *head_text(size_t count) {
    buf_done(&text);
    buf_init(&text, 1024);
    CU_ASSERT_EQUAL(report_line_header(&text, of_steps, count, NULL), 0);
    return buf_text(&text);
}

static void the_header_names_the_columns(void) {
    CU_ASSERT_STRING_EQUAL(head_text(0), "  Step  Epoch  img/s   Loss FinLoss       LR");
    CU_ASSERT_STRING_EQUAL(head_text(2),
                           "  Step  Epoch  img/s   Loss FinLoss       LR Top-1 %   Mask");
}

static void rows_stand_under_the_header(void) {
    struct table_row at = {.step = 20,
                           .epoch = 1.25,
                           .speed = 812.54,
                           .loss = 2.30259,
                           .final_loss = 2.35259,
                           .lr = 0.1};
    CU_ASSERT_STRING_EQUAL(row_text(at), "    20   1.25  812.5 2.3026  2.3526 0.100000");
    const struct metric_field more[] = {{"loss_mask", 0.25}, {"top1", 0.1875}};
    at.more = more;
    at.more_count = 2;
    at.columns = of_steps;
    at.column_count = 2;
    CU_ASSERT_STRING_EQUAL(row_text(at),
                           "    20   1.25  812.5 2.3026  2.3526 0.100000   18.75 0.2500");
    at.more_count = 1; /* not reported by these steps */
    ASSERT_CONTAINS(row_text(at), " 0.100000     nan 0.2500");
    ASSERT_CONTAINS(row_text((struct table_row){.step = 2, .speed = 0.0381}), "  0.038 ");
}

static void large_numbers_have_fewer_decimals(void) {
    CU_ASSERT_STRING_EQUAL(row_text((struct table_row){.step = 450000,
                                                       .epoch = 899.99,
                                                       .speed = 12345.6,
                                                       .loss = 12.34567,
                                                       .final_loss = 12345.67,
                                                       .lr = 16.4}),
                           "450000 899.99  12346 12.346 12345.7 16.40000");
}

static void as_many_columns_as_fit_are_shown(void) {
    CU_ASSERT_EQUAL(report_line_fitting(of_steps, SIZE_MAX), 2);
    CU_ASSERT_EQUAL(report_line_fitting(of_steps, strlen(head_text(2))), 2);
    CU_ASSERT_EQUAL(report_line_fitting(of_steps, strlen(head_text(2)) - 1), 1);
    CU_ASSERT_EQUAL(report_line_fitting(of_steps, strlen(head_text(1)) - 1), 0);
    CU_ASSERT_EQUAL(report_line_fitting(NULL, SIZE_MAX), 0);
}

static void a_loss_that_is_no_number_says_so(void) {
    const double nan = __builtin_nan("");
    ASSERT_CONTAINS(
        row_text((struct table_row){.step = 1, .speed = 1, .loss = nan, .final_loss = nan}), "nan");
    CU_ASSERT_PTR_NULL(strstr(
        row_text((struct table_row){.step = 1, .speed = 1, .loss = -nan, .final_loss = -nan}),
        "-"));
    buf_done(&text);
}

UNIT_SUITE("telemetry.report_line", UNIT(the_lines_have_the_documented_form),
           UNIT(several_ranks_tell_how_long_they_waited), UNIT(an_evaluation_names_its_weights),
           UNIT(an_epoch_has_a_line), UNIT(faults_of_the_data_are_counted_once_there_are_some),
           UNIT(every_metric_definition_matches_one_of_them), UNIT(the_header_names_the_columns),
           UNIT(rows_stand_under_the_header), UNIT(large_numbers_have_fewer_decimals),
           UNIT(as_many_columns_as_fit_are_shown), UNIT(a_loss_that_is_no_number_says_so))
