#include "tests/support/unit.h"
#include "trainer/graph/tensor.h"

static void bytes_are_elements_times_the_size_of_the_type(void) {
    struct tensor tensor = {.dtype = DTYPE_BF16, .shape = shape_4(2, 3, 4, 5)};
    CU_ASSERT_EQUAL(tensor_count(&tensor), 120);
    CU_ASSERT_EQUAL(tensor_bytes(&tensor), 240);
    tensor.dtype = DTYPE_F64;
    CU_ASSERT_EQUAL(tensor_bytes(&tensor), 960);
}

static void shapes_are_equal_by_rank_and_every_dimension(void) {
    struct shape a = shape_2(3, 4), b = shape_2(3, 4), c = shape_2(4, 3), d = shape_1(3);
    CU_ASSERT(shape_equal(&a, &b));
    CU_ASSERT(!shape_equal(&a, &c));
    CU_ASSERT(!shape_equal(&a, &d));
}

static void a_shape_prints_as_a_list(void) {
    char text[SHAPE_TEXT_SIZE];
    struct shape image = shape_4(32, 224, 224, 3), one = shape_1(7), boxes = shape_3(2, 8, 4);
    CU_ASSERT_STRING_EQUAL(shape_text(&image, text), "[32, 224, 224, 3]");
    CU_ASSERT_STRING_EQUAL(shape_text(&one, text), "[7]");
    CU_ASSERT_STRING_EQUAL(shape_text(&boxes, text), "[2, 8, 4]");
    struct shape large = shape_4(INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN);
    CU_ASSERT_STRING_EQUAL(shape_text(&large, text),
                           "[-9223372036854775808, -9223372036854775808, -9223372036854775808, "
                           "-9223372036854775808]");
}

static void only_doubles_have_a_wider_companion_than_f32(void) {
    CU_ASSERT_EQUAL(dtype_wide(DTYPE_BF16), DTYPE_F32);
    CU_ASSERT_EQUAL(dtype_wide(DTYPE_F32), DTYPE_F32);
    CU_ASSERT_EQUAL(dtype_wide(DTYPE_F64), DTYPE_F64);
}

UNIT_SUITE("graph.tensor", UNIT(bytes_are_elements_times_the_size_of_the_type),
           UNIT(shapes_are_equal_by_rank_and_every_dimension), UNIT(a_shape_prints_as_a_list),
           UNIT(only_doubles_have_a_wider_companion_than_f32))
