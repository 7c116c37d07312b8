#include "trainer/data/detect/bucket_plan.h"

#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct detect_sizes TV = {DETECT_SIZE_TV, 800, 1333};

/* Height, width and number of COCO128's pictures. */
static const int COCO128[][3] = {
    {218, 640, 1}, {226, 640, 1},  {248, 640, 1}, {312, 460, 1}, {313, 500, 1}, {327, 640, 1},
    {332, 500, 1}, {333, 500, 1},  {336, 448, 1}, {360, 640, 1}, {374, 500, 1}, {375, 500, 3},
    {389, 640, 1}, {406, 640, 1},  {407, 640, 1}, {416, 640, 1}, {424, 640, 1}, {425, 640, 3},
    {426, 640, 5}, {427, 640, 12}, {428, 640, 4}, {446, 640, 1}, {478, 640, 1}, {480, 640, 35},
    {481, 640, 2}, {484, 640, 1},  {488, 640, 1}, {491, 640, 1}, {495, 500, 1}, {500, 333, 1},
    {500, 375, 1}, {500, 381, 1},  {500, 409, 1}, {500, 473, 1}, {500, 600, 1}, {513, 640, 1},
    {536, 640, 1}, {573, 640, 1},  {580, 640, 1}, {600, 600, 1}, {611, 640, 1}, {612, 612, 1},
    {640, 359, 1}, {640, 360, 1},  {640, 416, 1}, {640, 423, 1}, {640, 426, 1}, {640, 427, 6},
    {640, 428, 1}, {640, 446, 1},  {640, 480, 9}, {640, 481, 1}, {640, 512, 1}, {640, 516, 1},
    {640, 520, 1}, {640, 565, 1},  {640, 591, 1}, {640, 638, 1}};
enum { PICTURES = 128 };

static void fill_coco128(struct detect_size *pictures) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof(COCO128) / sizeof(COCO128[0]); i++)
        for (int k = 0; k < COCO128[i][2]; k++)
            pictures[count++] = (struct detect_size){COCO128[i][0], COCO128[i][1]};
    CU_ASSERT_EQUAL_FATAL(count, PICTURES);
}

static size_t pictures_on(const struct bucket_plan *plan, int height, int width) {
    for (int i = 0; i < plan->count; i++)
        if (plan->canvases[i].height == height && plan->canvases[i].width == width)
            return plan->pictures[i];
    return 0;
}

static void coco128_lies_on_six_canvases(void) {
    struct detect_size pictures[PICTURES];
    struct bucket_plan plan = {0};
    struct error err = {0};
    fill_coco128(pictures);
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &TV, pictures, PICTURES, PICTURES, 1, &err), 0);
    CU_ASSERT_EQUAL(plan.count, 6);
    CU_ASSERT_EQUAL(pictures_on(&plan, 800, 1088), 55);
    CU_ASSERT_EQUAL(pictures_on(&plan, 800, 1216), 29);
    CU_ASSERT_EQUAL(pictures_on(&plan, 1088, 800), 20);
    CU_ASSERT_EQUAL(pictures_on(&plan, 1216, 800), 11);
    CU_ASSERT_EQUAL(pictures_on(&plan, 800, 1344), 10);
    CU_ASSERT_EQUAL(pictures_on(&plan, 1344, 800), 3);
}

/* Every picture lies on a canvas that holds it, and the counts are those. */
static void check_places(const struct bucket_plan *plan, const struct detect_sizes *sizes,
                         const struct detect_size *pictures, size_t count) {
    size_t seen[CANVASES_MAX] = {0};
    CU_ASSERT(plan->count >= 1 && plan->count <= CANVASES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct detect_size scaled = detect_resized(sizes, pictures[i]);
        int at = bucket_plan_place(plan, scaled);
        CU_ASSERT_FATAL(at >= 0 && at < plan->count);
        CU_ASSERT(scaled.height <= plan->canvases[at].height);
        CU_ASSERT(scaled.width <= plan->canvases[at].width);
        seen[at]++;
    }
    for (int i = 0; i < plan->count; i++) {
        CU_ASSERT_EQUAL(seen[i], plan->pictures[i]);
        CU_ASSERT_EQUAL(plan->canvases[i].height % CANVAS_STEP, 0);
        CU_ASSERT_EQUAL(plan->canvases[i].width % CANVAS_STEP, 0);
    }
}

/* The same, and each canvas is full enough. */
static void check_plan(const struct bucket_plan *plan, const struct detect_sizes *sizes,
                       const struct detect_size *pictures, size_t count, size_t global_batch) {
    check_places(plan, sizes, pictures, count);
    for (int i = 0; i < plan->count; i++)
        CU_ASSERT(plan->count == 1 || plan->pictures[i] >= global_batch);
}

/* Scored pictures need a canvas, and do not make it full. */
static void only_pictures_to_learn_from_fill_a_canvas(void) {
    const struct detect_sizes sizes = {DETECT_SIZE_TV, 96, 160};
    struct detect_size pictures[20];
    struct bucket_plan plan = {0};
    for (int i = 0; i < 20; i++)
        pictures[i] = (struct detect_size){i < 8 || i >= 18 ? 96 : 150, i < 8 ? 96 : 150};
    /* Eight squares and one upright picture to learn from; after them upright ones, and at the end
     * two landscape ones, to score on. */
    pictures[8] = (struct detect_size){150, 96};
    for (int i = 9; i < 18; i++)
        pictures[i] = (struct detect_size){150, 96};
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &sizes, pictures, 20, 9, 4, NULL), 0);
    size_t learnt = 0, scored = 0;
    for (int i = 0; i < plan.count; i++) {
        CU_ASSERT(plan.learnt[i] == 0 || plan.learnt[i] >= 4);
        CU_ASSERT(plan.pictures[i] > 0);
        learnt += plan.learnt[i];
        scored += plan.pictures[i] - plan.learnt[i];
    }
    CU_ASSERT(learnt == 9 && scored == 11);
    CU_ASSERT_EQUAL(plan.count, 2); /* two across lie alone */
    CU_ASSERT_EQUAL(pictures_on(&plan, 96, 160), 2);
    /* All of them to learn from: upright ones fill one. */
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &sizes, pictures, 20, 18, 4, NULL), 0);
    CU_ASSERT_EQUAL(pictures_on(&plan, 160, 96), 10);
}

static void a_canvas_with_less_than_a_global_batch_is_joined(void) {
    struct detect_size pictures[PICTURES];
    fill_coco128(pictures);
    for (size_t global = 1; global <= 2 * PICTURES; global++) {
        struct bucket_plan plan = {0};
        CU_ASSERT_EQUAL_FATAL(
            bucket_plan_make(&plan, &TV, pictures, PICTURES, PICTURES, global, NULL), 0);
        check_plan(&plan, &TV, pictures, PICTURES, global);
        if (global == 4) { /* three of 1344 x 800 join eleven of 1216 x 800 */
            CU_ASSERT_EQUAL(plan.count, 5);
            CU_ASSERT_EQUAL(pictures_on(&plan, 1344, 800), 14);
        }
        if (global > PICTURES) {
            CU_ASSERT_EQUAL(plan.count, 1);
            CU_ASSERT_EQUAL(pictures_on(&plan, 1344, 1344), 128);
        }
    }
}

static void order_does_not_matter(void) {
    struct detect_size pictures[PICTURES], turned[PICTURES];
    fill_coco128(pictures);
    for (int i = 0; i < PICTURES; i++)
        turned[i] = pictures[PICTURES - 1 - i];
    for (size_t global = 1; global < 40; global += 13) {
        struct bucket_plan one = {0}, other = {0};
        CU_ASSERT_EQUAL(bucket_plan_make(&one, &TV, pictures, PICTURES, PICTURES, global, NULL), 0);
        CU_ASSERT_EQUAL(bucket_plan_make(&other, &TV, turned, PICTURES, PICTURES, global, NULL), 0);
        CU_ASSERT_EQUAL(memcmp(&one, &other, sizeof(one)), 0);
    }
}

static void one_size_of_pictures_makes_one_tight_canvas(void) {
    const struct detect_sizes sizes = {DETECT_SIZE_TV, 128, 192};
    const struct detect_size pictures[3] = {{128, 128}, {128, 128}, {64, 64}};
    struct bucket_plan plan = {0};
    CU_ASSERT_EQUAL(bucket_plan_make(&plan, &sizes, pictures, 3, 3, 2, NULL), 0);
    CU_ASSERT_EQUAL(plan.count, 1);
    CU_ASSERT_EQUAL(pictures_on(&plan, 128, 128), 3);
}

/* maskrcnn-benchmark's rounding takes very long pictures beyond the long side. */
static void pictures_that_exceed_the_limits_get_a_canvas(void) {
    const struct detect_sizes sizes = {DETECT_SIZE_MB, 800, 1333};
    enum { COUNT = 400 };
    struct detect_size pictures[COUNT];
    struct bucket_plan plan = {0};
    int longest = 0;
    for (int i = 0; i < COUNT; i++) {
        pictures[i] = (struct detect_size){10 + i / 10, 4000 - 7 * i};
        int width = detect_resized(&sizes, pictures[i]).width;
        longest = width > longest ? width : longest;
    }
    CU_ASSERT(longest > 1344);
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &sizes, pictures, COUNT, COUNT, 1, NULL), 0);
    check_plan(&plan, &sizes, pictures, COUNT, 1);
}

static void what_cannot_be_planned_is_refused(void) {
    const struct detect_sizes wrong = {DETECT_SIZE_TV, 900, 800};
    const struct detect_size picture = {10, 10};
    struct bucket_plan plan = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(bucket_plan_make(&plan, &wrong, &picture, 1, 1, 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(bucket_plan_make(&plan, &TV, &picture, 0, 0, 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

static void canvases_can_be_given_by_hand(void) {
    static const char *const wrong[] = {
        "",
        "800",
        "800x",
        "x800",
        "800x1088,",
        "800x1080",
        "0x32",
        "-32x32",
        "32x32;32x32",
        "32x32,,32x32",
        " 32x32",
        "32 x32",
        "32x8224",
        "99999999999999999999x32",
        "32x32,64x32,96x32,128x32,160x32,192x32,224x32,256x32,288x32"};
    cleanup_buf struct buf text = {.max = 4096};
    struct bucket_plan plan = {0};
    CU_ASSERT_EQUAL(bucket_plan_parse(&plan, "800x1088,1088x800", NULL), 0);
    CU_ASSERT_EQUAL(plan.count, 2);
    CU_ASSERT_EQUAL(bucket_plan_place(&plan, (struct detect_size){800, 900}), 0);
    CU_ASSERT_EQUAL(bucket_plan_place(&plan, (struct detect_size){801, 800}), 1);
    CU_ASSERT_EQUAL(bucket_plan_place(&plan, (struct detect_size){801, 801}), CANVAS_NONE);
    CU_ASSERT_EQUAL(bucket_plan_format(&plan, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "800x1088,1088x800");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(bucket_plan_parse(&plan, wrong[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "canvas");
    }
    CU_ASSERT_EQUAL(plan.count, 2);
}

static const struct detect_sizes D2 = {DETECT_SIZE_D2, 800, 1333};

/* COCO128 with short sides of 640 to 800: two more canvases, on which no picture of the largest
 * size lies, hold what is drawn up to 704. */
static void what_is_drawn_smaller_gets_canvases_of_its_own(void) {
    struct detect_size pictures[PICTURES];
    struct bucket_plan plan = {0};
    fill_coco128(pictures);
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &D2, pictures, PICTURES, PICTURES, 1, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(plan.count, 6);
    bucket_plan_add_smaller(&plan, &D2, 704, pictures, PICTURES, 1);
    CU_ASSERT_EQUAL_FATAL(plan.count, 8);
    CU_ASSERT(plan.canvases[6].height == 704 && plan.canvases[6].width == 960);
    CU_ASSERT(plan.canvases[7].height == 960 && plan.canvases[7].width == 704);
    CU_ASSERT(plan.pictures[6] == 0 && plan.learnt[7] == 0);
    check_places(&plan, &D2, pictures, PICTURES);
    const struct detect_sizes smaller = {DETECT_SIZE_D2, 704, 1333};
    size_t flat = 0;
    for (int i = 0; i < PICTURES; i++)
        flat += bucket_plan_place(&plan, detect_resized(&smaller, pictures[i])) == 6;
    CU_ASSERT_EQUAL(flat, 55); /* those that lie on 800 x 1088 */
    bucket_plan_add_smaller(&plan, &D2, 672, pictures, PICTURES, 1);
    CU_ASSERT_EQUAL(plan.count, 8); /* full */
}

/* Pixels of the canvases that PLAN has for COCO128, each size of detectron2's being drawn once. */
static double drawn_pixels(const struct bucket_plan *plan, const struct detect_size *pictures) {
    double pixels = 0;
    for (int side = 640; side <= 800; side += 32)
        for (int i = 0; i < PICTURES; i++) {
            const struct detect_sizes sizes = {DETECT_SIZE_D2, side, 1333};
            const int at = bucket_plan_place(plan, detect_resized(&sizes, pictures[i]));
            pixels += (double)plan->canvases[at].height * plan->canvases[at].width;
        }
    return pixels;
}

/* The figure of docs/trainer/detection.md: 9.3 % fewer pixels than on canvases of the largest
 * sizes. */
static void smaller_canvases_save_a_tenth_of_the_pixels(void) {
    struct detect_size pictures[PICTURES];
    struct bucket_plan plan = {0};
    double largest = 0;
    fill_coco128(pictures);
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &D2, pictures, PICTURES, PICTURES, 1, NULL), 0);
    for (int i = 0; i < plan.count; i++)
        largest +=
            6.0 * (double)plan.pictures[i] * plan.canvases[i].height * plan.canvases[i].width;
    CU_ASSERT_DOUBLE_EQUAL(drawn_pixels(&plan, pictures) / largest, 0.975, 0.0005);
    bucket_plan_add_smaller(&plan, &D2, 704, pictures, PICTURES, 1);
    CU_ASSERT_DOUBLE_EQUAL(drawn_pixels(&plan, pictures) / largest, 0.907, 0.0005);
}

static void smaller_canvases_are_added_where_they_pay(void) {
    struct detect_size pictures[PICTURES];
    struct bucket_plan plan = {0};
    fill_coco128(pictures);
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &D2, pictures, PICTURES, PICTURES, 20, NULL), 0);
    const int before = plan.count;
    bucket_plan_add_smaller(&plan, &D2, 704, pictures, PICTURES, 20);
    CU_ASSERT_EQUAL(plan.count, before + 1); /* upright are fewer than two global batches */
    CU_ASSERT_EQUAL(plan.canvases[before].width, 960);

    /* 800 or nearly so: rounded up to steps it is no smaller canvas. */
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &D2, pictures, PICTURES, PICTURES, 1, NULL), 0);
    bucket_plan_add_smaller(&plan, &D2, 800, pictures, PICTURES, 1);
    bucket_plan_add_smaller(&plan, &D2, 770, pictures, PICTURES, 1);
    CU_ASSERT_EQUAL(plan.count, 6);

    /* Squares need no canvas across and another one upright. */
    for (int i = 0; i < PICTURES; i++)
        pictures[i] = (struct detect_size){600, 600};
    CU_ASSERT_EQUAL_FATAL(bucket_plan_make(&plan, &D2, pictures, PICTURES, PICTURES, 1, NULL), 0);
    bucket_plan_add_smaller(&plan, &D2, 704, pictures, PICTURES, 1);
    CU_ASSERT_EQUAL_FATAL(plan.count, 2);
    CU_ASSERT(plan.canvases[1].height == 704 && plan.canvases[1].width == 704);
}

UNIT_SUITE("data.bucket_plan", UNIT(coco128_lies_on_six_canvases),
           UNIT(only_pictures_to_learn_from_fill_a_canvas),
           UNIT(a_canvas_with_less_than_a_global_batch_is_joined), UNIT(order_does_not_matter),
           UNIT(one_size_of_pictures_makes_one_tight_canvas),
           UNIT(what_is_drawn_smaller_gets_canvases_of_its_own),
           UNIT(smaller_canvases_save_a_tenth_of_the_pixels),
           UNIT(smaller_canvases_are_added_where_they_pay),
           UNIT(pictures_that_exceed_the_limits_get_a_canvas),
           UNIT(what_cannot_be_planned_is_refused), UNIT(canvases_can_be_given_by_hand))
