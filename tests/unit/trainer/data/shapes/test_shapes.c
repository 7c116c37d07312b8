#include "tests/support/unit.h"
#include "trainer/data/shapes/shapes.h"

#include <math.h>
#include <string.h>

/* Area of the form at radius 40, as a share of its square, from the soft coverage. */
static double area(enum shape_form form, double turn) {
    const struct drawn_shape shape = {.form = form, .x = 64, .y = 64, .radius = 40, .turn = turn};
    double sum = 0;
    for (int y = 0; y < 128; y++)
        for (int x = 0; x < 128; x++)
            sum += shape_cover(&shape, x, y);
    return sum / (80.0 * 80.0);
}

static void areas_are_those_of_geometry(void) {
    const double pi = 3.14159265358979;
    CU_ASSERT_DOUBLE_EQUAL(area(SHAPE_CIRCLE, 0), pi * .92 * .92 / 4, 0.002);
    CU_ASSERT_DOUBLE_EQUAL(area(SHAPE_SQUARE, 0), .64, 0.002);
    CU_ASSERT_DOUBLE_EQUAL(area(SHAPE_RING, 0), pi * (.95 * .95 - .45 * .45) / 4, 0.003);
    CU_ASSERT_DOUBLE_EQUAL(area(SHAPE_CROSS, 0), (2 * .6 * 1.9 - .36) / 4, 0.003);
}

static void turning_keeps_the_area(void) {
    for (int form = 0; form < SHAPE_FORMS; form++)
        for (int k = 1; k < 8; k++)
            CU_ASSERT_DOUBLE_EQUAL(area((enum shape_form)form, k * 0.7),
                                   area((enum shape_form)form, 0), 0.004);
}

static void nothing_lies_outside_of_the_bounds(void) {
    for (int form = 0; form < SHAPE_FORMS; form++)
        for (int k = 0; k < 8; k++) {
            const struct drawn_shape shape = {
                .form = (enum shape_form)form, .x = 30.3, .y = 28.8, .radius = 20, .turn = k * 0.5};
            struct rect box = shape_bounds(&shape, 60, 60);
            for (int y = 0; y < 60; y++)
                for (int x = 0; x < 60; x++)
                    if (x < box.left || y < box.top || x >= box.left + box.width ||
                        y >= box.top + box.height)
                        CU_ASSERT_EQUAL(shape_cover(&shape, x, y), 0);
        }
}

static void bounds_are_clipped(void) {
    const struct drawn_shape at_edge = {.form = SHAPE_CIRCLE, .x = 1, .y = 1, .radius = 5};
    const struct drawn_shape outside = {.form = SHAPE_CIRCLE, .x = 100, .y = 1, .radius = 5};
    struct rect box = shape_bounds(&at_edge, 10, 10);
    CU_ASSERT(box.left == 0 && box.top == 0 && box.width <= 10 && box.height <= 10);
    CU_ASSERT_EQUAL(shape_bounds(&outside, 10, 10).width, 0);
}

static void drawing_puts_the_color_inside_and_leaves_the_rest(void) {
    cleanup_image struct image image = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(&image, 40, 40, NULL), 0);
    memset(image.pixels, 7, 40 * 40 * 3);
    const struct drawn_shape shape = {
        .form = SHAPE_SQUARE, .x = 20, .y = 20, .radius = 10, .color = {200, 100, 50}};
    shape_draw(&shape, &image);
    const uint8_t inside[] = {200, 100, 50};
    const uint8_t outside[] = {7, 7, 7};
    CU_ASSERT_EQUAL(memcmp(image_row(&image, 20) + 20 * 3, inside, 3), 0);
    CU_ASSERT_EQUAL(memcmp(image_row(&image, 2) + 2 * 3, outside, 3), 0);
}

static void the_ground_is_a_function_of_its_key(void) {
    cleanup_image struct image a = {0};
    cleanup_image struct image b = {0};
    const uint8_t from[] = {10, 20, 30};
    const uint8_t to[] = {200, 210, 220};
    CU_ASSERT_EQUAL_FATAL(image_resize(&a, 30, 20, NULL) | image_resize(&b, 30, 20, NULL), 0);
    shape_ground(&a, from, to, 20, 1, 5);
    shape_ground(&b, from, to, 20, 1, 5);
    CU_ASSERT_EQUAL(memcmp(a.pixels, b.pixels, 30 * 20 * 3), 0);
    shape_ground(&b, from, to, 20, 1, 6);
    CU_ASSERT(memcmp(a.pixels, b.pixels, 30 * 20 * 3) != 0);
}

static void names_differ(void) {
    for (int a = 0; a < SHAPE_FORMS; a++)
        for (int b = 0; b < a; b++)
            CU_ASSERT(strcmp(shape_name((enum shape_form)a), shape_name((enum shape_form)b)) != 0);
}

UNIT_SUITE("data.shapes", UNIT(areas_are_those_of_geometry), UNIT(turning_keeps_the_area),
           UNIT(nothing_lies_outside_of_the_bounds), UNIT(bounds_are_clipped),
           UNIT(drawing_puts_the_color_inside_and_leaves_the_rest),
           UNIT(the_ground_is_a_function_of_its_key), UNIT(names_differ))
