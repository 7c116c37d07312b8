#include "tests/support/unit.h"
#include "trainer/data/dataset/batch.h"

static void fields_lie_behind_each_other_on_whole_lines(void) {
    struct batch_layout layout = {0};
    CU_ASSERT_EQUAL(batch_layout_add(&layout, "a", 1), 0);
    CU_ASSERT_EQUAL(batch_layout_add(&layout, "b", 64), 1);
    CU_ASSERT_EQUAL(batch_layout_add(&layout, "c", 65), 2);
    CU_ASSERT_EQUAL(layout.count, 3);
    CU_ASSERT_EQUAL(layout.fields[0].offset, 0);
    CU_ASSERT_EQUAL(layout.fields[1].offset, 64);
    CU_ASSERT_EQUAL(layout.fields[2].offset, 128);
    CU_ASSERT_EQUAL(layout.fields[2].bytes, 65);
    CU_ASSERT_EQUAL(layout.bytes, 256);
}

static void a_field_is_found_by_its_whole_name(void) {
    struct batch_layout layout = {0};
    (void)batch_layout_add(&layout, "image_size", 24);
    (void)batch_layout_add(&layout, "image", 9);
    CU_ASSERT_EQUAL(batch_layout_find(&layout, "image"), 1);
    CU_ASSERT_EQUAL(batch_layout_find(&layout, "image_size"), 0);
    CU_ASSERT_EQUAL(batch_layout_find(&layout, "imag"), -1);
}

UNIT_SUITE("data.batch", UNIT(fields_lie_behind_each_other_on_whole_lines),
           UNIT(a_field_is_found_by_its_whole_name))
