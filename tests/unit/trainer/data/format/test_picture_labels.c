#include "tests/support/unit.h"
#include "trainer/data/format/picture_labels.h"

#include <stdlib.h>
#include <string.h>

static int parse(struct picture_labels *ret, const char *text, struct error *err) {
    return picture_labels_parse(ret, strdup(text), strlen(text), "labels", err);
}

static void a_class_a_line_is_for_the_pictures_in_order(void) {
    cleanup_picture_labels struct picture_labels labels = {0};
    CU_ASSERT_EQUAL_FATAL(parse(&labels, "n02\r\nn01\nn02\n\n", NULL), 0);
    CU_ASSERT_EQUAL(labels.count, 3);
    CU_ASSERT_STRING_EQUAL(picture_labels_find(&labels, "val/any.JPEG", 1), "n01");
    CU_ASSERT_STRING_EQUAL(picture_labels_find(&labels, "any.JPEG", 2), "n02");
    CU_ASSERT_PTR_NULL(picture_labels_find(&labels, "any.JPEG", 3));
}

static void pictures_with_names_may_be_in_any_order(void) {
    cleanup_picture_labels struct picture_labels labels = {0};
    CU_ASSERT_EQUAL_FATAL(parse(&labels,
                                "ImageId,PredictionString\nv_2,n02 1 2 3 4 n02 5 6 7 8\n"
                                "v_1.JPEG n01\nv_3\tn03\n",
                                NULL),
                          0);
    CU_ASSERT_EQUAL(labels.count, 3);
    CU_ASSERT_STRING_EQUAL(picture_labels_find(&labels, "v_1.JPEG", 2), "n01");
    CU_ASSERT_STRING_EQUAL(picture_labels_find(&labels, "a/v_2.JPEG", 0), "n02");
    CU_ASSERT_STRING_EQUAL(picture_labels_find(&labels, "v_3", 0), "n03");
    CU_ASSERT_PTR_NULL(picture_labels_find(&labels, "v_4.JPEG", 0));
}

static void what_cannot_be_understood_names_its_line(void) {
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"n01\n\nn02\n", "labels: line 2: empty"},
        {"n01\nv_1 n02\n", "labels: line 2: not as the lines before it"},
        {"490\n361\n", "labels: line 1: class '490' is a number"},
        {"v_1 65\n", "labels: line 1: class '65' is a number"},
        {"v_1 n01\nv_1.JPEG n02\n", "labels: v_1 occurs twice"},
        {"ImageId,PredictionString\n", "labels: no class of a picture in it"},
        {"\n \n", "labels: no class of a picture in it"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct picture_labels labels = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(&labels, cases[i].text, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].expected));
        CU_ASSERT_PTR_NULL(labels.items);
    }
    struct picture_labels labels = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(picture_labels_parse(&labels, strdup("a b"), 4, "labels", &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "NUL"));
    CU_ASSERT_EQUAL(picture_labels_read(&labels, "/nonexistent", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

UNIT_SUITE("data.format.picture_labels", UNIT(a_class_a_line_is_for_the_pictures_in_order),
           UNIT(pictures_with_names_may_be_in_any_order),
           UNIT(what_cannot_be_understood_names_its_line))
