#include "trainer/eval/coco_report.h"

#include "tests/support/unit.h"

#include <jansson.h>
#include <string.h>

/* Texts and JSON of a scoring's report. Numbers are made up, but for one case that goes through the
 * evaluation; what the numbers mean is tested in test_coco_stats.c. The texts must be those of
 * pycocotools, since other programs search them. */

/* Name, id and number of objects; two have the same name, and one no objects. A name has quotes,
 * which JSON must escape. */
static const struct coco_report_category CATEGORIES[] = {
    {"cat \"a\"", 3, 12}, {"dog", 17, 0}, {"dog", 90, 1}};

/* Fills BY_CATEGORY, of three rows, and borrows it. -1 is a number without a value; a third needs
 * all digits of a double. */
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

/* The lines of pycocotools to the character, blanks included: programs of others read them. */
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

/* A dash stands for -1; quotes need no escape here. */
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

/* Bytes that are not text, characters of several bytes, names longer than the column. `blanks` are
 * what a name of one column per character leaves of 40. */
static void names_of_any_kind_keep_the_columns(void) {
    static const char *const names[] = {"\xc3\xa9t\xc3\xa9", "a\x83",
                                        "long name of more than 40 characters, really",
                                        "exactly forty characters, as wide as is.", ""};
    static const char *const shown[] = {"\xc3\xa9t\xc3\xa9", "a\xef\xbf\xbd",
                                        "long name of more than 40 characters, really",
                                        "exactly forty characters, as wide as is.", ""};
    static const int blanks[] = {37, 38, 0, 0, 40};
    struct coco_report_category categories[5];
    double by_category[5][COCO_STATS] = {{0}};
    struct coco_report report = {
        .by_category = by_category, .categories = categories, .category_count = 5};
    cleanup_buf struct buf out = {.max = 10000};
    cleanup_buf struct buf wanted = {.max = 10000};
    struct error err = {0};
    for (size_t i = 0; i < 5; i++)
        categories[i] = (struct coco_report_category){names[i], (int64_t)i, i};
    CU_ASSERT_EQUAL(coco_report_table(&report, &out, &err), 0);
    buf_printf(&wanted, NULL, " %-40s  objects     AP   AP50   AP75    APs    APm    APl\n",
               "category");
    for (size_t i = 0; i < 5; i++)
        buf_printf(&wanted, NULL, " %s%*s %8zu  0.000  0.000  0.000  0.000  0.000  0.000\n",
                   shown[i], blanks[i], "", i);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), buf_text(&wanted));
}

static void a_report_takes_the_means_of_its_curves(void) {
    /* One object found in the first category, one missed in the second. */
    struct coco_object truth[] = {{.area = 100, .box = {0, 0, 10, 10}},
                                  {.area = 100, .category = 1, .box = {0, 0, 10, 10}}};
    struct coco_object found[] = {{.area = 100, .score = 0.5, .box = {0, 0, 10, 10}}};
    struct coco_input input = {.truth = {.list = truth, .count = 2},
                               .found = {.list = found, .count = 1},
                               .image_count = 1,
                               .category_count = 2};
    cleanup_coco_curves struct coco_curves curves = {0};
    cleanup_coco_report struct coco_report report = {0};
    struct error err = {0};
    double stats[COCO_STATS];
    CU_ASSERT_EQUAL_FATAL(coco_eval(&input, &curves, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_report_make(&report, "bbox", &curves, CATEGORIES, &err), 0);
    CU_ASSERT_STRING_EQUAL(report.kind, "bbox");
    CU_ASSERT_EQUAL(report.category_count, 2);
    /* Borrowed, not copied. */
    CU_ASSERT_PTR_EQUAL(report.categories, CATEGORIES);
    CU_ASSERT_EQUAL(coco_stats(&curves, stats, &err), 0);
    /* The same numbers as from coco_stats, bit for bit; a miss is 0, and the mean of both a
     * half. */
    CU_ASSERT_EQUAL(memcmp(report.stats, stats, sizeof(stats)), 0);
    CU_ASSERT_DOUBLE_EQUAL(report.by_category[0][0], 1, 1e-9);
    CU_ASSERT_EQUAL(report.by_category[1][0], 0);
    CU_ASSERT_DOUBLE_EQUAL(report.stats[0], 0.5, 1e-9);
}

/* If there is not enough room, by any number of bytes, that is reported and the text is not cut
 * off: a number that lost its last digits would look like another result. */
static void a_report_that_does_not_fit_is_an_error(void) {
    double by_category[3][COCO_STATS];
    struct coco_report report = make_report(by_category);
    int (*const writers[])(const struct coco_report *, struct buf *, struct error *) = {
        coco_report_lines, coco_report_table, coco_report_json};
    struct error err = {0};
    for (size_t i = 0; i < 3; i++) {
        cleanup_buf struct buf whole = {.max = 10000};
        CU_ASSERT_EQUAL_FATAL(writers[i](&report, &whole, &err), 0);
        for (size_t room = 0; room <= whole.size; room++) {
            cleanup_buf struct buf out = {.max = room};
            CU_ASSERT_EQUAL(writers[i](&report, &out, &err), room == whole.size ? 0 : -1);
        }
    }
}

/* Numbers are read back by jansson and compared exactly: a third must not lose a digit. */
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
    /* Two categories of the same name are told apart by their ids. */
    CU_ASSERT_PTR_NOT_NULL(json_object_get(classes, "dog (17)"));
    CU_ASSERT_PTR_NOT_NULL(json_object_get(classes, "dog (90)"));
    json_decref(root);
}

UNIT_SUITE("eval.coco_report", UNIT(the_twelve_lines_are_the_familiar_ones),
           UNIT(the_table_has_a_row_for_each_category), UNIT(names_of_any_kind_keep_the_columns),
           UNIT(a_report_takes_the_means_of_its_curves),
           UNIT(a_report_that_does_not_fit_is_an_error),
           UNIT(json_brings_every_number_back_to_the_bit))
