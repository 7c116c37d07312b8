#include "eval/coco_report.h"

#include "support/unit.h"

#include <jansson.h>

static const struct coco_report_category CATEGORIES[] = {
    {"cat \"a\"", 3, 12}, {"dog", 17, 0}, {"dog", 90, 1}};

static struct coco_report make_report(double (*by_category)[COCO_STATS]) {
    struct coco_report report = {
        .kind = "bbox", .by_category = by_category, .categories = CATEGORIES, .category_count = 3};
    for (int i = 0; i < COCO_STATS; i++) {
        report.stats[i] = i == 3 ? -1 : 0.1 * i;
        by_category[0][i] = 1.0 / 3.0;
        by_category[1][i] = -1;
        by_category[2][i] = 1;
    }
    return report;
}

static void the_twelve_lines_are_the_familiar_ones(void) {
    double by_category[3][COCO_STATS];
    struct coco_report report = make_report(by_category);
    cleanup_buf struct buf out = {.max = 10000};
    struct error err = {0};
    CU_ASSERT_EQUAL(coco_report_lines(&report, &out, &err), 0);
    CU_ASSERT_STRING_EQUAL(
        buf_text(&out),
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.000\n"
        " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.100\n"
        " Average Precision  (AP) @[ IoU=0.75      | area=   all | maxDets=100 ] = 0.200\n"
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = -1.000\n"
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area=medium | maxDets=100 ] = 0.400\n"
        " Average Precision  (AP) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = 0.500\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=  1 ] = 0.600\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets= 10 ] = 0.700\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.800\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = 0.900\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area=medium | maxDets=100 ] = 1.000\n"
        " Average Recall     (AR) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = 1.100\n");
}

static void the_table_has_a_row_for_each_category(void) {
    double by_category[3][COCO_STATS];
    struct coco_report report = make_report(by_category);
    cleanup_buf struct buf out = {.max = 10000};
    struct error err = {0};
    CU_ASSERT_EQUAL(coco_report_table(&report, &out, &err), 0);
    ASSERT_CONTAINS(buf_text(&out),
                    " cat \"a\"        12  0.333  0.333  0.333  0.333  0.333  0.333\n"
                    " dog             0      -      -      -      -      -      -\n");
}

static void json_brings_every_number_back_to_the_bit(void) {
    double by_category[3][COCO_STATS];
    struct coco_report report = make_report(by_category);
    cleanup_buf struct buf out = {.max = 10000};
    struct error err = {0};
    CU_ASSERT_EQUAL(coco_report_json(&report, &out, &err), 0);
    json_t *root = json_loads(buf_text(&out), 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    json_t *stats = json_object_get(root, "stats"),
           *classes = json_object_get(root, "per_category");
    for (size_t i = 0; i < COCO_STATS; i++)
        CU_ASSERT(json_number_value(json_array_get(stats, i)) == report.stats[i]);
    json_t *first = json_object_get(classes, "cat \"a\"");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(first, "id")), 3);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(first, "objects")), 12);
    CU_ASSERT(json_number_value(json_array_get(json_object_get(first, "stats"), 11)) == 1.0 / 3.0);
    /* Two categories of one name are told apart by their ids. */
    CU_ASSERT_PTR_NOT_NULL(json_object_get(classes, "dog (17)"));
    CU_ASSERT_PTR_NOT_NULL(json_object_get(classes, "dog (90)"));
    json_decref(root);
}

UNIT_MAIN("eval.coco_report", UNIT(the_twelve_lines_are_the_familiar_ones),
          UNIT(the_table_has_a_row_for_each_category),
          UNIT(json_brings_every_number_back_to_the_bit))
