#include "tests/support/distribution.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/augment.h"

#include <math.h>
#include <string.h>

static struct augment_plan plan_of(const struct augment *a, int width, int height,
                                   uint64_t sample) {
    struct augment_plan plan;
    augment_draw(a, width, height, 3, 1, sample, &plan);
    return plan;
}

static void defaults_fit_the_size(void) {
    struct augment a;
    augment_defaults_train(&a, 224);
    CU_ASSERT_EQUAL(a.mode, AUGMENT_RANDOM_RESIZED_CROP);
    CU_ASSERT_EQUAL(augment_check(&a, NULL), 0);
    augment_defaults_train(&a, 32);
    CU_ASSERT_EQUAL(a.mode, AUGMENT_PAD_CROP);
    CU_ASSERT_EQUAL(a.pad, 4);
    augment_defaults_eval(&a, 224);
    CU_ASSERT_EQUAL(a.resize_side, 256);
    augment_defaults_eval(&a, 112);
    CU_ASSERT_EQUAL(a.resize_side, 128);
    augment_defaults_eval(&a, 32);
    CU_ASSERT_EQUAL(a.resize_side, 32);
    CU_ASSERT_FALSE(a.flip);
}

static void random_crops_keep_to_area_and_aspect(void) {
    struct augment a;
    augment_defaults_train(&a, 112);
    a.area_min = 0.25;
    double area_sum = 0;
    int flips = 0;
    for (uint64_t i = 0; i < 4000; i++) {
        struct augment_plan p = plan_of(&a, 400, 300, i);
        double area = (double)p.source.width * p.source.height / (400 * 300);
        double aspect = (double)p.source.width / p.source.height;
        CU_ASSERT(area > 0.245 && area <= 1.001);
        CU_ASSERT(aspect > 0.735 && aspect < 1.36);
        CU_ASSERT(p.source.left >= 0 && p.source.left + p.source.width <= 400);
        CU_ASSERT(p.source.top >= 0 && p.source.top + p.source.height <= 300);
        CU_ASSERT(p.width == 112 && p.height == 112 && p.left == 0 && p.top == 0);
        area_sum += area;
        flips += p.flip;
    }
    CU_ASSERT(area_sum / 4000 > 0.5 && area_sum / 4000 < 0.65);
    CU_ASSERT(flips > 1850 && flips < 2150);
}

enum { DRAWS = 10000 };

/* torchvision's RandomResizedCrop where the first try always fits: the area and the logarithm of
 * the aspect ratio are uniform, and so is the position in the remaining room. */
static void random_crops_are_distributed_as_torchvisions(void) {
    static double area[DRAWS], aspect[DRAWS], left[DRAWS], top[DRAWS];
    enum { SIDE = 20000 };
    struct augment a;
    augment_defaults_train(&a, 224);
    a.area_min = 0.08;
    a.area_max = 0.7;
    for (uint64_t i = 0; i < DRAWS; i++) {
        const struct rect box = plan_of(&a, SIDE, SIDE, i).source;
        area[i] = (double)box.width * box.height / ((double)SIDE * SIDE);
        aspect[i] = log((double)box.width / box.height);
        left[i] = (double)box.left / (SIDE - box.width);
        top[i] = (double)box.top / (SIDE - box.height);
    }
    check_distribution(area, DRAWS, uniform_share, 0.08, 0.7);
    check_distribution(aspect, DRAWS, uniform_share, log(3.0 / 4), log(4.0 / 3));
    check_distribution(left, DRAWS, uniform_share, 0, 1);
    check_distribution(top, DRAWS, uniform_share, 0, 1);
}

static void a_strip_falls_back_to_its_middle(void) {
    struct augment a;
    augment_defaults_train(&a, 112);
    for (uint64_t i = 0; i < 50; i++) {
        struct augment_plan p = plan_of(&a, 1000, 10, i);
        if (p.source.height != 10) /* one of the tries fitted */
            continue;
        CU_ASSERT(p.source.width <= 14);
    }
    a.area_min = a.area_max = 1; /* no try can fit */
    struct augment_plan p = plan_of(&a, 1000, 10, 0);
    CU_ASSERT(p.source.width == 13 && p.source.height == 10 && p.source.left == 493);
    p = plan_of(&a, 10, 1000, 0);
    CU_ASSERT(p.source.width == 10 && p.source.height == 13 && p.source.top == 493);
}

static void one_pixel_is_a_picture_too(void) {
    struct augment a;
    augment_defaults_train(&a, 112);
    struct augment_plan p = plan_of(&a, 1, 1, 0);
    CU_ASSERT(p.source.width == 1 && p.source.height == 1);
    augment_defaults_eval(&a, 112);
    p = plan_of(&a, 1, 1, 0);
    CU_ASSERT(p.width == 128 && p.height == 128 && p.left == 8);
}

struct golden_box {
    int width, height;
    uint64_t seed;
    uint32_t epoch;
    uint64_t sample;
    double area_min;
    struct rect box;
};

struct golden_center {
    int width, height;
    int side; /* the short side before the crop */
    int size; /* the side of the crop */
    int scaled_width, scaled_height, left, top;
};

#include "tests/golden/boxes.h"

static void random_boxes_are_torchvisions(void) {
    for (size_t i = 0; i < sizeof(golden_boxes) / sizeof(golden_boxes[0]); i++) {
        const struct golden_box *g = &golden_boxes[i];
        struct augment a;
        struct augment_plan p;
        augment_defaults_train(&a, 224);
        a.area_min = g->area_min;
        augment_draw(&a, g->width, g->height, g->seed, g->epoch, g->sample, &p);
        CU_ASSERT_EQUAL(memcmp(&p.source, &g->box, sizeof(p.source)), 0);
    }
}

static void centre_crops_are_torchvisions(void) {
    for (size_t i = 0; i < sizeof(golden_centers) / sizeof(golden_centers[0]); i++) {
        const struct golden_center *g = &golden_centers[i];
        struct augment a;
        augment_defaults_eval(&a, g->size);
        a.resize_side = g->side;
        struct augment_plan p = plan_of(&a, g->width, g->height, 0);
        CU_ASSERT(p.width == g->scaled_width && p.height == g->scaled_height);
        CU_ASSERT(p.left == g->left && p.top == g->top);
    }
}

static void the_side_before_a_centre_crop_is_rounded(void) {
    for (int size = 41; size <= 600; size++) {
        struct augment a;
        augment_defaults_eval(&a, size);
        CU_ASSERT_EQUAL(a.resize_side, (int)floor(size * 8 / 7.0 + 0.5));
    }
}

/* The same as in torchvision 0.2x: Resize(256), CenterCrop(224). */
static void the_centre_crop_rounds_as_torchvision(void) {
    struct augment a;
    augment_defaults_eval(&a, 224);
    struct augment_plan p = plan_of(&a, 500, 375, 0);
    CU_ASSERT(p.width == 341 && p.height == 256 && p.top == 16);
    CU_ASSERT_EQUAL(p.left, 58); /* 58.5 is rounded to even */
    p = plan_of(&a, 343, 256, 0);
    CU_ASSERT_EQUAL(p.left, 60); /* and so is 59.5 */
    p = plan_of(&a, 375, 500, 0);
    CU_ASSERT(p.width == 256 && p.height == 341 && p.left == 16 && p.top == 58);
    p = plan_of(&a, 333, 500, 0);
    CU_ASSERT(p.width == 256 && p.height == 384 && p.top == 80);
    CU_ASSERT_FALSE(p.flip);
}

static void pad_and_crop_reaches_every_offset(void) {
    struct augment a;
    uint8_t seen[9][9] = {{0}};
    augment_defaults_train(&a, 32);
    for (uint64_t i = 0; i < 2000; i++) {
        struct augment_plan p = plan_of(&a, 32, 32, i);
        CU_ASSERT_FATAL(p.left >= -4 && p.left <= 4 && p.top >= -4 && p.top <= 4);
        CU_ASSERT(p.width == 32 && p.height == 32);
        seen[p.left + 4][p.top + 4] = 1;
    }
    int count = 0;
    for (int i = 0; i < 81; i++)
        count += seen[i / 9][i % 9];
    CU_ASSERT_EQUAL(count, 81);
}

static void the_plan_depends_on_its_key_alone(void) {
    struct augment a;
    augment_defaults_train(&a, 112);
    struct augment_plan first = plan_of(&a, 500, 400, 17);
    for (uint64_t i = 0; i < 5; i++)
        (void)plan_of(&a, 500, 400, i);
    struct augment_plan again = plan_of(&a, 500, 400, 17);
    CU_ASSERT(first.source.left == again.source.left && first.source.top == again.source.top);
    CU_ASSERT(first.source.width == again.source.width && first.flip == again.flip);
    struct augment_plan other;
    augment_draw(&a, 500, 400, 3, 2, 17, &other);
    CU_ASSERT(other.source.left != first.source.left || other.source.top != first.source.top);
}

static void expect_refused(const struct augment *a, const char *field) {
    struct error err;
    CU_ASSERT_EQUAL(augment_check(a, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, field);
}

static void impossible_recipes_are_refused_by_field(void) {
    struct augment a;
    augment_defaults_train(&a, 0);
    expect_refused(&a, "image_size");
    augment_defaults_train(&a, 112);
    a.area_min = 0;
    expect_refused(&a, "area");
    augment_defaults_train(&a, 112);
    a.area_max = 1.5;
    expect_refused(&a, "area");
    augment_defaults_train(&a, 112);
    a.aspect_min = NAN;
    expect_refused(&a, "aspect");
    augment_defaults_train(&a, 32);
    a.pad = 33;
    expect_refused(&a, "pad");
    augment_defaults_eval(&a, 112);
    a.resize_side = 100;
    expect_refused(&a, "resize_side");
}

UNIT_SUITE("data.augment", UNIT(defaults_fit_the_size), UNIT(random_crops_keep_to_area_and_aspect),
           UNIT(random_crops_are_distributed_as_torchvisions),
           UNIT(a_strip_falls_back_to_its_middle), UNIT(one_pixel_is_a_picture_too),
           UNIT(random_boxes_are_torchvisions), UNIT(centre_crops_are_torchvisions),
           UNIT(the_side_before_a_centre_crop_is_rounded),
           UNIT(the_centre_crop_rounds_as_torchvision), UNIT(pad_and_crop_reaches_every_offset),
           UNIT(the_plan_depends_on_its_key_alone), UNIT(impossible_recipes_are_refused_by_field))
