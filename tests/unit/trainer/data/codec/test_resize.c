#include "tests/support/pictures.h"
#include "tests/support/unit.h"
#include "trainer/data/codec/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct resizer resizer;

static struct resize_map whole(const struct image *in, int width, int height) {
    return (struct resize_map){.width = in->width,
                               .height = in->height,
                               .virtual_width = width,
                               .virtual_height = height,
                               .window = {0, 0, width, height}};
}

/* The definition, in floating point: the triangle of width max(1, scale) over the box's pixels. */
static double sample(const struct image *in, const struct resize_map *m, int x, int y, int c) {
    double sx = m->width / m->virtual_width, sy = m->height / m->virtual_height;
    double cx = m->left + (x + 0.5) * sx, cy = m->top + (y + 0.5) * sy;
    double rx = fmax(sx, 1), ry = fmax(sy, 1);
    double sum = 0, total = 0;
    for (int v = (int)fmax(floor(m->top), 0); v < fmin(ceil(m->top + m->height), in->height); v++)
        for (int u = (int)fmax(floor(m->left), 0); u < fmin(ceil(m->left + m->width), in->width);
             u++) {
            double w =
                fmax(0, 1 - fabs((u + 0.5 - cx) / rx)) * fmax(0, 1 - fabs((v + 0.5 - cy) / ry));
            sum += w * image_row(in, v)[u * IMAGE_CHANNELS + c];
            total += w;
        }
    return sum / total;
}

/* Largest difference of the result from the definition. */
static double difference(const struct image *in, const struct resize_map *m) {
    const struct rect *w = &m->window;
    uint8_t *out = malloc((size_t)(w->width * w->height * IMAGE_CHANNELS));
    double most = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL_FATAL(resize_window(&resizer, in, m, out, NULL), 0);
    for (int y = 0; y < w->height; y++)
        for (int x = 0; x < w->width; x++)
            for (int c = 0; c < IMAGE_CHANNELS; c++) {
                int u = m->flip ? w->width - 1 - x : x;
                double want = sample(in, m, w->left + u, w->top + y, c);
                most = fmax(most, fabs(want - out[(y * w->width + x) * IMAGE_CHANNELS + c]));
            }
    free(out);
    return most;
}

static void it_agrees_with_the_definition(void) {
    cleanup_image struct image in = {0};
    picture_fill(&in, 47, 31, 3);
    const int sizes[][2] = {{16, 16}, {47, 31}, {70, 50}, {1, 1}, {7, 40}, {60, 5}, {23, 31}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct resize_map m = whole(&in, sizes[i][0], sizes[i][1]);
        CU_ASSERT(difference(&in, &m) < 0.6);
        m.flip = true;
        CU_ASSERT(difference(&in, &m) < 0.6);
    }
}

static void boxes_and_windows_agree_with_the_definition(void) {
    cleanup_image struct image in = {0};
    picture_fill(&in, 97, 61, 4);
    struct resize_map m = {.left = 10.25,
                           .top = 3.5,
                           .width = 60.75,
                           .height = 50,
                           .virtual_width = 40,
                           .virtual_height = 30,
                           .window = {5, 6, 20, 20}};
    CU_ASSERT(difference(&in, &m) < 0.6);
    m.left = -8; /* the box begins before what was decoded */
    m.window.left = 6;
    CU_ASSERT(difference(&in, &m) < 0.6);
}

static void the_same_size_is_the_same_picture(void) {
    cleanup_image struct image in = {0};
    uint8_t out[50 * 40 * 3];
    picture_fill(&in, 50, 40, 5);
    struct resize_map m = whole(&in, 50, 40);
    CU_ASSERT_EQUAL_FATAL(resize_window(&resizer, &in, &m, out, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(out, in.pixels, sizeof(out)), 0);
}

static void a_flat_color_stays_what_it_is(void) {
    cleanup_image struct image in = {0};
    CU_ASSERT_EQUAL_FATAL(image_resize(&in, 333, 217, NULL), 0);
    for (int value = 0; value <= 255; value += 51)
        for (int side = 1; side < 300; side += 37) {
            static uint8_t out[300 * 300 * 3];
            memset(in.pixels, value, 333 * 217 * 3);
            struct resize_map m = whole(&in, side, side);
            CU_ASSERT_EQUAL_FATAL(resize_window(&resizer, &in, &m, out, NULL), 0);
            int other = 0;
            for (int i = 0; i < side * side * 3; i++)
                other += out[i] != value;
            CU_ASSERT_EQUAL(other, 0);
        }
}

static void outside_of_the_picture_is_black(void) {
    cleanup_image struct image in = {0};
    uint8_t out[12 * 12 * 3];
    CU_ASSERT_EQUAL_FATAL(image_resize(&in, 8, 8, NULL), 0);
    memset(in.pixels, 200, 8 * 8 * 3);
    struct resize_map m = whole(&in, 8, 8);
    m.window = (struct rect){-2, -3, 12, 12};
    CU_ASSERT_EQUAL_FATAL(resize_window(&resizer, &in, &m, out, NULL), 0);
    for (int y = 0; y < 12; y++)
        for (int x = 0; x < 12; x++) {
            bool inside = x >= 2 && x < 10 && y >= 3 && y < 11;
            CU_ASSERT_EQUAL(out[(y * 12 + x) * 3], inside ? 200 : 0);
        }
}

static void a_box_beside_the_picture_is_our_fault(void) {
    cleanup_image struct image in = {0};
    struct error err;
    uint8_t out[3];
    picture_fill(&in, 8, 8, 1);
    struct resize_map m = whole(&in, 1, 1);
    m.left = 9;
    CU_ASSERT_EQUAL(resize_window(&resizer, &in, &m, out, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    resizer_done(&resizer);
}

UNIT_SUITE("data.resize", UNIT(it_agrees_with_the_definition),
           UNIT(boxes_and_windows_agree_with_the_definition),
           UNIT(the_same_size_is_the_same_picture), UNIT(a_flat_color_stays_what_it_is),
           UNIT(outside_of_the_picture_is_black), UNIT(a_box_beside_the_picture_is_our_fault))
