#include "trainer/data/detect/detection_draw.h"

#include "tests/support/unit.h"

#include <string.h>

/* A box and a picture of 480 x 640 in the sizes of each framework; the corners were worked out by
 * Python's floats, rounded to f32 where the framework's tensors are f32. */
static const struct detect_size PICTURE = {480, 640};

static void expect(enum detect_size_rule rule, struct detect_size scaled, const float box[4],
                   const float plain[4], const float mirrored[4]) {
    float found[4];
    for (int flip = 0; flip <= 1; flip++) {
        const struct detection_draw draw = {.scaled = scaled, .flip = flip == 1, .rule = rule};
        detection_draw_box(&draw, PICTURE, box, found);
        CU_ASSERT_EQUAL(memcmp(found, flip == 1 ? mirrored : plain, sizeof(found)), 0);
    }
}

static void detectron2_scales_and_mirrors_in_double(void) {
    static const float box[4] = {10.25F, 3.5F, 87.38F, 25.4F};
    static const float plain[4] = {0x1.116b34p+4F, 0x1.755556p+2F, 0x1.235b9p+7F, 0x1.52aaaap+5F};
    static const float mirrored[4] = {0x1.cca91cp+9F, 0x1.755556p+2F, 0x1.067a54p+10F,
                                      0x1.52aaaap+5F};
    expect(DETECT_SIZE_D2, (struct detect_size){800, 1067}, box, plain, mirrored);
}

static void maskrcnn_benchmark_mirrors_about_the_last_pixel(void) {
    static const float box[4] = {10.25F, 3.5F, 86.38F, 24.4F};
    static const float plain[4] = {0x1.11299ap+4F, 0x1.755554p+2F, 0x1.1fc0dcp+7F, 0x1.455554p+5F};
    static const float mirrored[4] = {0x1.cc8fc8p+9F, 0x1.755554p+2F, 0x1.05fb5ap+10F,
                                      0x1.455554p+5F};
    expect(DETECT_SIZE_MB, (struct detect_size){800, 1066}, box, plain, mirrored);
}

/* The whole picture stays the whole picture, in each framework's terms. */
static void the_picture_is_its_own_mirror(void) {
    for (int flip = 0; flip <= 1; flip++) {
        static const float whole[4] = {0, 0, 640, 480}, last[4] = {0, 0, 639, 479};
        struct detection_draw draw = {.scaled = {800, 1067}, .flip = flip == 1};
        float found[4];
        for (draw.rule = DETECT_SIZE_TV; draw.rule <= DETECT_SIZE_D2; draw.rule++) {
            detection_draw_box(&draw, PICTURE, whole, found);
            CU_ASSERT(found[0] == 0 && found[1] == 0 && found[2] == 1067 && found[3] == 800);
        }
        draw =
            (struct detection_draw){.scaled = PICTURE, .flip = flip == 1, .rule = DETECT_SIZE_MB};
        detection_draw_box(&draw, PICTURE, last, found);
        CU_ASSERT_EQUAL(memcmp(found, last, sizeof(last)), 0);
    }
}

static void points_far_away_stay_within_numbers(void) {
    const struct detection_draw draw = {.scaled = {960, 1280}, .rule = DETECT_SIZE_D2};
    float found[2];
    detection_draw_point(&draw, PICTURE, 1e300, -1e300, found);
    CU_ASSERT(found[0] == 2e6F && found[1] == -2e6F);
}

UNIT_SUITE("detect.detection_draw", UNIT(detectron2_scales_and_mirrors_in_double),
           UNIT(maskrcnn_benchmark_mirrors_about_the_last_pixel),
           UNIT(the_picture_is_its_own_mirror), UNIT(points_far_away_stay_within_numbers))
