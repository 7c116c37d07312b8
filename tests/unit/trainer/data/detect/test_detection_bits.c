#include "trainer/data/detect/detection_bits.h"

#include "tests/support/unit.h"
#include "trainer/eval/rle_text.h"
#include "trainer/math/bilinear.h"
#include "trainer/math/random.h"

#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 37, WIDTH = 53, SLOTS = 3, PLACES = 3 };

/* A blob or two somewhere, as bytes and as runs. */
static void draw_mask(struct random *random, uint8_t *bytes, struct rle *mask) {
    memset(bytes, 0, HEIGHT * WIDTH);
    for (int part = 0; part < 2; part++) {
        uint32_t x = random_below(random, WIDTH), y = random_below(random, HEIGHT);
        uint32_t w = 1 + random_below(random, WIDTH - x), h = 1 + random_below(random, HEIGHT - y);
        for (uint32_t i = y; i < y + h; i++)
            for (uint32_t k = x; k < x + w; k++)
                bytes[i * WIDTH + k] |= (i * 7 + k * 3) % 11 != 0;
    }
    const struct rle_pixels pixels = {bytes, HEIGHT, WIDTH, WIDTH, 1};
    CU_ASSERT_EQUAL_FATAL(rle_encode(mask, &pixels, NULL), 0);
}

static void crops_hold_the_pixels_and_nothing_else(void) {
    uint8_t bytes[HEIGHT * WIDTH];
    cleanup_rle struct rle mask = {0};
    struct detection_bits bits = {0};
    struct random random = random_stream(3, 0, 0);
    size_t size = 0;
    for (int round = 0; round < 50; round++) {
        int32_t at[MASK_FIELDS];
        double box[4];
        draw_mask(&random, bytes, &mask);
        CU_ASSERT_EQUAL_FATAL(detection_bits_add(&bits, &mask, at, NULL), 0);
        rle_box(&mask, box);
        if (rle_area(&mask) > 0) {
            CU_ASSERT(at[MASK_X] == box[0] && at[MASK_Y] == box[1]);
            CU_ASSERT(at[MASK_WIDTH] == box[2] && at[MASK_HEIGHT] == box[3]);
        }
        CU_ASSERT_EQUAL(at[MASK_OFFSET], (int32_t)size);
        size += (size_t)mask_bits_bytes(at[MASK_WIDTH], at[MASK_HEIGHT]);
        CU_ASSERT_EQUAL(bits.size, size);
        int wrong = 0;
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                wrong += mask_bits_get(bits.bytes, at, x, y) != bytes[y * WIDTH + x];
        CU_ASSERT_EQUAL(wrong, 0);
    }
    detection_bits_done(&bits);
}

static void an_empty_mask_is_a_mask(void) {
    cleanup_rle struct rle mask = {0};
    struct detection_bits bits = {0};
    int32_t at[MASK_FIELDS];
    CU_ASSERT_EQUAL(rle_parse(&mask, "T3", 2, 10, 10, NULL), 0);
    CU_ASSERT_EQUAL(detection_bits_add(&bits, &mask, at, NULL), 0);
    CU_ASSERT(mask_bits_given(at));
    CU_ASSERT_EQUAL(bits.size, 1);
    CU_ASSERT_EQUAL(bits.bytes[0], 0);
    detection_bits_done(&bits);
}

/* What the network reads of a mask at pixel (X, Y) of the scaled, perhaps mirrored picture. */
static int read_mask(const uint8_t *pool, const int32_t *at, struct detect_size source,
                     struct detect_size scaled, bool flip, int32_t x, int32_t y) {
    int32_t row = bilinear_nearest(y, bilinear_scale(source.height, scaled.height), source.height);
    int32_t column = bilinear_nearest(x, bilinear_scale(source.width, scaled.width), source.width);
    return mask_bits_get(pool, at, flip ? source.width - 1 - column : column, row);
}

static void scaled_masks_read_as_those_of_the_whole_picture(void) {
    static const struct detect_size sizes[] = {{20, 29}, {37, 53}, {10, 53}, {74, 106}, {1, 1}};
    uint8_t bytes[HEIGHT * WIDTH];
    cleanup_rle struct rle mask = {0};
    struct random random = random_stream(4, 0, 0);
    for (int round = 0; round < 60; round++) {
        const struct detect_size scaled = sizes[round % 5];
        struct detection_crop whole = {0};
        struct detection_bits bits = {0};
        int32_t at[MASK_FIELDS];
        bool flip = round % 2 == 1;
        draw_mask(&random, bytes, &mask);
        CU_ASSERT_EQUAL_FATAL(detection_bits_add(&whole.bits, &mask, whole.at, NULL), 0);
        const struct detection_scaling scaling = {{HEIGHT, WIDTH}, scaled, flip};
        CU_ASSERT_EQUAL_FATAL(detection_bits_add_scaled(&bits, &whole, &scaling, at, NULL), 0);
        CU_ASSERT(mask_bits_given(at));
        int wrong = 0;
        for (int y = 0; y < scaled.height; y++)
            for (int x = 0; x < scaled.width; x++)
                wrong += read_mask(bits.bytes, at, scaled, scaled, flip, x, y) !=
                         read_mask(whole.bits.bytes, whole.at, (struct detect_size){HEIGHT, WIDTH},
                                   scaled, flip, x, y);
        CU_ASSERT_EQUAL(wrong, 0);
        detection_crop_done(&whole);
        CU_ASSERT(whole.bits.bytes == NULL && whole.at[MASK_WIDTH] == 0);
        detection_bits_done(&bits);
    }
}

/* Crops of WIDTH x HEIGHT full of ones, but for the first bit. */
static void add_square(struct detection_bits *bits, int32_t width, int32_t height,
                       int32_t at[MASK_FIELDS]) {
    cleanup_rle struct rle mask = {.height = 100, .width = 100};
    uint8_t bytes[100 * 100] = {0};
    const struct rle_pixels pixels = {bytes, 100, 100, 100, 1};
    for (int y = 0; y < height; y++)
        memset(&bytes[y * 100], 1, (size_t)width);
    CU_ASSERT_EQUAL_FATAL(rle_encode(&mask, &pixels, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(detection_bits_add(bits, &mask, at, NULL), 0);
}

struct batch {
    struct detection_bits bits[PLACES];
    int32_t at[PLACES * SLOTS * MASK_FIELDS];
    uint8_t pool[80];
};

/* Widths of 8 pixels and heights as bytes: place 0 has 10 and 20, place 1 none, place 2 5, 30, 1.
 */
static struct detection_fields fill_batch(struct batch *batch, size_t pool_bytes) {
    static const int32_t heights[PLACES * SLOTS] = {10, 20, 0, 0, 0, 0, 5, 30, 1};
    *batch = (struct batch){0};
    memset(batch->pool, 0xaa, sizeof(batch->pool));
    for (int i = 0; i < PLACES * SLOTS; i++)
        if (heights[i] > 0)
            add_square(&batch->bits[i / SLOTS], 8, heights[i], &batch->at[i * MASK_FIELDS]);
    return (struct detection_fields){.slots = SLOTS,
                                     .pool_bytes = pool_bytes,
                                     .gt_mask_at = batch->at,
                                     .mask_bits = batch->pool};
}

static void check_batch(const struct batch *batch, const struct detection_fields *fields,
                        const int32_t heights[PLACES * SLOTS]) {
    int32_t used = 0;
    for (int i = 0; i < PLACES * SLOTS; i++) {
        const int32_t *at = &batch->at[i * MASK_FIELDS];
        CU_ASSERT_EQUAL(at[MASK_HEIGHT], heights[i]);
        if (heights[i] == 0)
            continue;
        CU_ASSERT_EQUAL(at[MASK_OFFSET], used);
        for (int k = 0; k < heights[i]; k++)
            CU_ASSERT_EQUAL(batch->pool[used + k], 0xff);
        used += heights[i];
    }
    for (size_t i = (size_t)used; i < fields->pool_bytes; i++)
        CU_ASSERT_EQUAL(batch->pool[i], 0);
    for (size_t i = fields->pool_bytes; i < sizeof(batch->pool); i++)
        CU_ASSERT_EQUAL(batch->pool[i], 0xaa);
}

static void masks_lie_in_the_pool_in_order(void) {
    static const struct {
        size_t bytes;
        int64_t dropped;
        int32_t heights[PLACES * SLOTS];
    } rows[] = {
        {80, 0, {10, 20, 0, 0, 0, 0, 5, 30, 1}}, {66, 0, {10, 20, 0, 0, 0, 0, 5, 30, 1}},
        {65, 1, {10, 20, 0, 0, 0, 0, 5, 30, 0}}, {64, 1, {10, 20, 0, 0, 0, 0, 0, 30, 1}},
        {50, 3, {0, 20, 0, 0, 0, 0, 0, 30, 0}},  {29, 2, {0, 20, 0, 0, 0, 0, 5, 0, 1}},
        {1, 4, {0, 0, 0, 0, 0, 0, 0, 0, 1}},     {0, 5, {0}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct batch batch;
        struct detection_fields fields = fill_batch(&batch, rows[i].bytes);
        int64_t dropped = -1;
        CU_ASSERT_EQUAL(detection_bits_gather(&fields, batch.bits, PLACES, &dropped, NULL), 0);
        CU_ASSERT_EQUAL(dropped, rows[i].dropped);
        check_batch(&batch, &fields, rows[i].heights);
        for (int k = 0; k < PLACES; k++)
            detection_bits_done(&batch.bits[k]);
    }
}

UNIT_SUITE("detect.detection_bits", UNIT(crops_hold_the_pixels_and_nothing_else),
           UNIT(an_empty_mask_is_a_mask), UNIT(scaled_masks_read_as_those_of_the_whole_picture),
           UNIT(masks_lie_in_the_pool_in_order))
