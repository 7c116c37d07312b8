#include "trainer/eval/mask_paste.h"

#include "tests/support/paste_bitmap.h"
#include "tests/support/unit.h"
#include "trainer/eval/rle_text.h"
#include "trainer/math/random.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 28 };

/* A row of the golden file: rule, seed of the logits, picture, box, and the mask as area and
 * string. */
struct golden_paste {
    enum mask_paste_rule rule;
    int seed;
    uint32_t height;
    uint32_t width;
    float box[4];
    uint32_t area;
    const char *runs;
};
#include "tests/golden/mask_paste.h"

/* Pasted masks are compared with two sources. Golden masks were made by torchvision, and by torch's
 * grid_sample for detectron2's rule (tests/golden/mask_paste.py). For any other box and square a
 * plain bitmap is computed pixel by pixel (tests/support/paste_bitmap.h), by the same rule but
 * without runs, spans or clipping. */

/* The same values as logits_of in tests/golden/mask_paste.py: a blob with noise and holes, in
 * sixteenths, which f32 holds exactly. */
static void fill_logits(float *logits, int seed) {
    int cy = 10 + seed % 7, cx = 9 + seed * 5 % 9, r = 9 + seed % 5;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            int blob = r * r - (y - cy) * (y - cy) - (x - cx) * (x - cx);
            int noise = (x * 7919 + y * 104729 + seed * 1299709) % 65537 % 33 - 16;
            int hole = (x + seed) % 9 == 3 && y % 11 < 4 ? 90 : 0;
            logits[y * SIDE + x] = (float)(blob + noise - hole) / 16;
        }
}

/* Both the area and the string: a wrong area says at once by how much a mask is wrong. */
static void masks_are_torchvisions_to_the_pixel(void) {
    cleanup_mask_paster struct mask_paster paster = {0};
    cleanup_rle struct rle mask = {0};
    float logits[SIDE * SIDE];
    for (size_t i = 0; i < sizeof(golden_pastes) / sizeof(golden_pastes[0]); i++) {
        const struct golden_paste *golden = &golden_pastes[i];
        struct mask_paste paste = {.rule = golden->rule,
                                   .logits = logits,
                                   .side = SIDE,
                                   .height = golden->height,
                                   .width = golden->width};
        cleanup_buf struct buf text = {.max = 1 << 16};
        struct error err = {0};
        memcpy(paste.box, golden->box, sizeof(paste.box));
        fill_logits(logits, golden->seed);
        CU_ASSERT_EQUAL_FATAL(mask_paste(&mask, &paster, &paste, &err), 0);
        CU_ASSERT_EQUAL(rle_area(&mask), golden->area);
        CU_ASSERT_EQUAL(rle_format(&mask, &text, &err), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&text), golden->runs);
    }
}

/* Fails unless the mask has the runs of the bitmap, no more and no fewer. The scratch memory is
 * used again from call to call, as in an evaluation. */
static void check_bitmap(struct mask_paster *paster, const struct mask_paste *paste) {
    cleanup_rle struct rle mask = {0}, wanted = {0};
    struct error err = {0};
    uint8_t *bytes = malloc((size_t)paste->height * paste->width);
    struct rle_pixels pixels = {bytes, paste->height, paste->width, paste->width, 1};
    paste_bitmap(paste, bytes);
    CU_ASSERT_EQUAL_FATAL(mask_paste(&mask, paster, paste, &err), 0);
    CU_ASSERT_EQUAL_FATAL(rle_encode(&wanted, &pixels, &err), 0);
    CU_ASSERT_EQUAL_FATAL(mask.count, wanted.count);
    CU_ASSERT_EQUAL(memcmp(mask.runs, wanted.runs, mask.count * sizeof(*mask.runs)), 0);
    free(bytes);
}

/* A number between LOW and HIGH, the same in every run. */
static float draw(struct random *random, double low, double high) {
    return (float)(low + (high - low) * ((double)random_u32(random) / 4294967296.0));
}

/* 240 cases over both rules, six sides and three kinds of logits: all on the threshold, near it,
 * and clear. Boxes may lie outside, be empty, or have their edges on whole pixels, where rounding
 * decides. Sides of 1 and of the maximum are among them, and pictures of a single row or column. */
static void masks_are_a_bitmaps_for_any_box_and_square(void) {
    static const int sides[] = {28, 1, 2, 14, 7, MASK_PASTE_SIDE_MAX};
    static float logits[MASK_PASTE_SIDE_MAX * MASK_PASTE_SIDE_MAX];
    cleanup_mask_paster struct mask_paster paster = {0};
    struct random random = random_stream(7, 0, 0);
    for (int i = 0; i < 240; i++) {
        struct mask_paste paste = {.rule = i % 2 == 0 ? MASK_PASTE_TV : MASK_PASTE_D2,
                                   .logits = logits,
                                   .side = sides[i / 2 % 6],
                                   .height = 1 + random_below(&random, 60),
                                   .width = 1 + random_below(&random, 60)};
        double steep = i % 3 == 0 ? 0 : i % 3 == 1 ? 0.25 : 8; /* 0: probabilities of one half */
        for (int k = 0; k < paste.side * paste.side; k++)
            logits[k] = draw(&random, -steep, steep);
        for (int k = 0; k < 4; k++)
            paste.box[k] = draw(&random, -40, 100);
        if (i % 5 == 0) /* edges on whole pixels */
            for (int k = 0; k < 4; k++)
                paste.box[k] = floorf(paste.box[k]);
        check_bitmap(&paster, &paste);
    }
}

/* No number, too far away, exchanged corners, beside the picture, and as large as the reach. The
 * logits are clearly positive, so any pixel would be seen. A mask without ones is a single run, of
 * zeros, over the whole picture (rle_end). */
static void a_box_of_no_picture_gives_no_pixels(void) {
    static const float boxes[][4] = {
        {NAN, 0, 10, 10},  {0, 0, INFINITY, 10},       {-1e30F, 0, 10, 10},  {0, 0, 1e9F, 1e9F},
        {10, 10, 2, 2},    {200, 0, 300, 10},          {-50, -50, -10, -10}, {0, 0, 3e7F, 3e7F},
        {-9e6F, 5, -2, 9}, {5, 16777215, 9, 16777216},
    };
    float logits[SIDE * SIDE];
    cleanup_mask_paster struct mask_paster paster = {0};
    cleanup_rle struct rle mask = {0};
    for (int i = 0; i < SIDE * SIDE; i++)
        logits[i] = 20;
    for (size_t i = 0; i < 2 * sizeof(boxes) / sizeof(boxes[0]); i++) {
        struct mask_paste paste = {.rule = i % 2 == 0 ? MASK_PASTE_TV : MASK_PASTE_D2,
                                   .logits = logits,
                                   .side = SIDE,
                                   .height = 30,
                                   .width = 40};
        struct error err = {0};
        memcpy(paste.box, boxes[i / 2], sizeof(paste.box));
        CU_ASSERT_EQUAL(mask_paste(&mask, &paster, &paste, &err), 0);
        CU_ASSERT_EQUAL(rle_end(&mask, &err), 0);
        CU_ASSERT_EQUAL(mask.count, 1);
    }
}

/* The corners are exchanged by less than a pixel, or lie on each other; if pasted, the square would
 * be mirrored. torchvision's rule makes a box of at least one pixel, so this is about the other
 * one. */
static void a_box_with_its_corners_exchanged_is_empty(void) {
    static const float boxes[][4] = {
        {5.6F, 5, 5.4F, 9}, {5, 5.6F, 9, 5.4F}, {5.6F, 5.6F, 5.4F, 5.4F}, {5.5F, 5, 5.5F, 9}};
    float logits[SIDE * SIDE];
    cleanup_mask_paster struct mask_paster paster = {0};
    cleanup_rle struct rle mask = {0};
    for (int i = 0; i < SIDE * SIDE; i++)
        logits[i] = 20;
    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
        struct mask_paste paste = {
            .rule = MASK_PASTE_D2, .logits = logits, .side = SIDE, .height = 30, .width = 40};
        struct error err = {0};
        memcpy(paste.box, boxes[i], sizeof(paste.box));
        CU_ASSERT_EQUAL(mask_paste(&mask, &paster, &paste, &err), 0);
        CU_ASSERT_EQUAL(rle_area(&mask), 0);
    }
}

/* Just within the reach, and so large that the picture lies within one source cell. All pixels are
 * one run of ones, after an empty one of zeros. */
static void a_box_over_everything_gives_every_pixel(void) {
    float logits[SIDE * SIDE];
    cleanup_mask_paster struct mask_paster paster = {0};
    cleanup_rle struct rle mask = {0};
    for (int i = 0; i < SIDE * SIDE; i++)
        logits[i] = 20;
    for (int rule = MASK_PASTE_TV; rule <= MASK_PASTE_D2; rule++) {
        struct mask_paste paste = {.rule = rule,
                                   .logits = logits,
                                   .side = SIDE,
                                   .box = {-8e6F, -8e6F, 8e6F, 8e6F},
                                   .height = 30,
                                   .width = 40};
        struct error err = {0};
        CU_ASSERT_EQUAL(mask_paste(&mask, &paster, &paste, &err), 0);
        CU_ASSERT_EQUAL_FATAL(mask.count, 2);
        CU_ASSERT(mask.runs[0] == 0 && mask.runs[1] == 1200);
    }
}

/* NaN, and both infinities, in thirds: a mean with NaN is NaN, which is above no threshold. */
static void logits_that_are_no_numbers_are_in_no_mask(void) {
    float logits[SIDE * SIDE];
    cleanup_mask_paster struct mask_paster paster = {0};
    for (int i = 0; i < SIDE * SIDE; i++)
        logits[i] = i % 28 < 9 ? NAN : i % 28 < 18 ? INFINITY : -INFINITY;
    for (int rule = MASK_PASTE_TV; rule <= MASK_PASTE_D2; rule++) {
        struct mask_paste paste = {.rule = rule,
                                   .logits = logits,
                                   .side = SIDE,
                                   .box = {2, 3, 33, 25},
                                   .height = 30,
                                   .width = 40};
        check_bitmap(&paster, &paste);
    }
}

/* A side of nothing or too large for the stack, and pictures that no mask can have. Such a request
 * is a fault of the program, as no network makes it. */
static void sizes_out_of_bounds_are_refused(void) {
    const struct mask_paste wrong[] = {
        {.side = 0, .height = 30, .width = 40},
        {.side = MASK_PASTE_SIDE_MAX + 1, .height = 30, .width = 40},
        {.side = SIDE, .height = 0, .width = 40},
        {.side = SIDE, .height = 65536, .width = 65536},
    };
    cleanup_mask_paster struct mask_paster paster = {0};
    cleanup_rle struct rle mask = {0};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(mask_paste(&mask, &paster, &wrong[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    }
}

UNIT_SUITE("eval.mask_paste", UNIT(masks_are_torchvisions_to_the_pixel),
           UNIT(masks_are_a_bitmaps_for_any_box_and_square),
           UNIT(a_box_of_no_picture_gives_no_pixels),
           UNIT(a_box_with_its_corners_exchanged_is_empty),
           UNIT(a_box_over_everything_gives_every_pixel),
           UNIT(logits_that_are_no_numbers_are_in_no_mask), UNIT(sizes_out_of_bounds_are_refused))
