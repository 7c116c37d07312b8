#include "common/text/metric_line.h"
#include "tests/support/unit.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

static const struct metric_field train_fields[] = {{"step", 20},
                                                   {"epoch", 1.5},
                                                   {"loss", 2.30251},
                                                   {"lr", 1e-5},
                                                   {"images_per_second", 812.5},
                                                   {"data_wait", 0.25},
                                                   {"comm_wait", 0.125},
                                                   {"skipped", 0}};
static const struct metric_field eval_fields[] = {
    {"epoch", 1}, {"top1", 0.9125}, {"top5", 1}, {"loss", 0.3}, {"images", 400}};

/* Fields of a network that detects objects. */
static const struct metric_field loss_fields[] = {
    {"step", 20},           {"loss", 2},        {"loss_classifier", 0.5},   {"loss_box_reg", 0.25},
    {"loss_objectness", 1}, {"loss_mask", 0.5}, {"loss_rpn_box_reg", 1e-5}, {"label_accuracy", 1},
    {"objects_dropped", 3}};
static const struct metric_field object_fields[] = {
    {"epoch", 1},      {"bbox_mAP", 0.4},  {"bbox_AP50", 0.6}, {"bbox_AP75", 0.4},
    {"bbox_APs", -1},  {"bbox_APm", 0.4},  {"bbox_APl", 0.4},  {"bbox_AR100", 0.5},
    {"bbox_AR1", 0.5}, {"bbox_AR10", 0.5}, {"bbox_ARs", -1},   {"bbox_ARm", 0.5},
    {"bbox_ARl", 0.5}, {"segm_mAP", 0.3},  {"segm_AP50", 0.5}, {"segm_AP75", 0.3},
    {"segm_APs", -1},  {"segm_APm", 0.3},  {"segm_APl", 0.3},  {"segm_AR100", 1},
    {"segm_AR1", 0.5}, {"segm_AR10", 0.5}, {"segm_ARs", -1},   {"segm_ARm", 0.5},
    {"segm_ARl", 0.5}, {"images", 5000}};

static void fields_are_key_value_with_one_blank_between(void) {
    cleanup_buf struct buf out;
    buf_init(&out, 1000);
    CU_ASSERT_EQUAL(metric_line_format(&out, "train", train_fields, 8, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "train step=20 epoch=1.5 loss=2.30251 lr=1e-05 "
                                           "images_per_second=812.5 data_wait=0.25 "
                                           "comm_wait=0.125 skipped=0");
}

static void values_that_are_not_finite_have_names(void) {
    static const struct metric_field fields[] = {
        {"a", NAN}, {"b", INFINITY}, {"c", -INFINITY}, {"d", -NAN}};
    cleanup_buf struct buf out;
    buf_init(&out, 1000);
    metric_line_format(&out, "train", fields, 4, NULL);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), "train a=nan b=inf c=-inf d=nan");
}

#define FIELDS(array) (array), sizeof(array) / sizeof((array)[0])

static const struct {
    const char *kind;
    const struct metric_field *fields;
    size_t count;
} lines[] = {{"train", FIELDS(train_fields)},
             {"eval", FIELDS(eval_fields)},
             {"train", FIELDS(loss_fields)},
             {"eval", FIELDS(object_fields)}};
enum { LINES = sizeof(lines) / sizeof(lines[0]) };

/* Returns the value of the metric "kind:name" in the first line that has it. */
static double expected(const char *metric) {
    const char *name = strchr(metric, ':') + 1;
    for (size_t i = 0; i < LINES; i++)
        for (size_t k = 0; k < lines[i].count; k++)
            if (strncmp(metric, lines[i].kind, (size_t)(name - 1 - metric)) == 0 &&
                strcmp(lines[i].fields[k].name, name) == 0)
                return lines[i].fields[k].value;
    return NAN;
}

static void every_definition_finds_its_value_in_a_line(void) {
    cleanup_buf struct buf out;
    buf_init(&out, 4000);
    for (size_t i = 0; i < LINES; i++) {
        metric_line_format(&out, lines[i].kind, lines[i].fields, lines[i].count, NULL);
        buf_add_text(&out, "\n", NULL);
    }
    size_t count = 0;
    const struct metric_definition *definitions = metric_line_definitions(&count);
    CU_ASSERT_EQUAL(count, 8 + 8 + 2 * 12);
    CU_ASSERT(count <= METRIC_DEFINITIONS_MAX);
    for (size_t i = 0; i < count; i++) {
        /* POSIX has no (?:...), which becomes a group here; the first group still is the value. */
        char posix[256];
        size_t length = 0;
        for (const char *p = definitions[i].regex; *p != '\0'; p++) {
            posix[length++] = *p;
            if (p[0] == '(' && p[1] == '?')
                p += 2;
        }
        posix[length] = '\0';
        regex_t compiled;
        regmatch_t found[2];
        CU_ASSERT_EQUAL_FATAL(regcomp(&compiled, posix, REG_EXTENDED | REG_NEWLINE), 0);
        CU_ASSERT_EQUAL_FATAL(regexec(&compiled, buf_text(&out), 2, found, 0), 0);
        CU_ASSERT_EQUAL(strtod(buf_text(&out) + found[1].rm_so, NULL),
                        expected(definitions[i].name));
        regfree(&compiled);
    }
}

UNIT_SUITE("common.metric_line", UNIT(fields_are_key_value_with_one_blank_between),
           UNIT(values_that_are_not_finite_have_names),
           UNIT(every_definition_finds_its_value_in_a_line))
