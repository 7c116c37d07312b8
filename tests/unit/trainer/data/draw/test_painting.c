#include "trainer/data/draw/painting.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/coco/coco_load.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 120, HEIGHT = 80 };

/* Two objects of one category, the second with runs in columns 80..99, and a crowd. */
static const char SET[] =
    "{\"images\":[{\"id\":1,\"file_name\":\"a\",\"width\":120,\"height\":80}],"
    "\"categories\":[{\"id\":7,\"name\":\"K\\u00e4se\"}],\"annotations\":["
    "{\"id\":1,\"image_id\":1,\"category_id\":7,\"bbox\":[10,20,30,40],\"area\":1,"
    "\"segmentation\":[[10,20,40,20,40,60,10,60]]},"
    "{\"id\":2,\"image_id\":1,\"category_id\":7,\"bbox\":[80,0,20,80],\"area\":1,"
    "\"segmentation\":{\"size\":[80,120],\"counts\":[6400,1600,1600]}}]}";

struct scene {
    struct coco_index index;
    struct draw_names names;
    struct painting painting;
    struct image image;
    struct error err;
};

static void scene_make(struct scene *s) {
    char path[PATH_MAX];
    const struct coco_report_category category = {.name = "K\xc3\xa4se", .id = 7};
    *s = (struct scene){0};
    snprintf(path, sizeof(path), "%s/set.json", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_publish(path, SET, strlen(SET), 0644, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_load(&s->index, path, NULL, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(draw_names_make(&s->names, &category, 1, NULL, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(image_resize(&s->image, WIDTH, HEIGHT, &s->err), 0);
    memset(s->image.pixels, 100, WIDTH * HEIGHT * IMAGE_CHANNELS);
}

static void scene_done(struct scene *s) {
    painting_done(&s->painting);
    image_done(&s->image);
    draw_names_done(&s->names);
    coco_index_done(&s->index);
}

static bool is_painted(const struct image *image, int x, int y) {
    static const uint8_t grey[] = {100, 100, 100};
    return memcmp(image_pixel(image, x, y), grey, sizeof(grey)) != 0;
}

static void annotations_are_painted_each_in_its_colour(void) {
    struct scene s;
    scene_make(&s);
    CU_ASSERT_EQUAL_FATAL(painting_add_annotations(&s.painting, &s.index, 0, &s.names, &s.err), 0);
    CU_ASSERT_EQUAL(s.painting.count, 2);
    ASSERT_CONTAINS(s.painting.list[0].label, "se");
    CU_ASSERT_EQUAL_FATAL(painting_paint(&s.painting, &s.image, s.names.fonts, &s.err), 0);
    CU_ASSERT(is_painted(&s.image, 25, 45) && is_painted(&s.image, 90, 60));
    CU_ASSERT_FALSE(is_painted(&s.image, 60, 70));
    CU_ASSERT_NOT_EQUAL(
        memcmp(image_pixel(&s.image, 25, 45), image_pixel(&s.image, 90, 60), IMAGE_CHANNELS), 0);
    scene_done(&s);
}

static void results_are_painted_with_their_scores(void) {
    struct scene s;
    cleanup_coco_results struct coco_results results = {0};
    cleanup_rle struct rle mask = {0};
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    scene_make(&s);
    coco_results_begin(&results, "found", true);
    CU_ASSERT_EQUAL_FATAL(
        coco_index_mask(&s.index, &s.index.annotations[0], &room, &scratch, &mask, &s.err), 0);
    const struct coco_result result = {
        .image_id = 1, .category_id = 7, .score = 0.875, .box = {10, 20, 30, 40}};
    CU_ASSERT_EQUAL_FATAL(coco_results_add(&results, &result, &mask, &s.err), 0);
    CU_ASSERT_EQUAL_FATAL(
        painting_add_result(&s.painting, &results, 0, &s.image, &s.names, 0, &s.err), 0);
    ASSERT_CONTAINS(s.painting.list[0].label, "se 0.88");
    CU_ASSERT_EQUAL_FATAL(painting_paint(&s.painting, &s.image, s.names.fonts, &s.err), 0);
    CU_ASSERT(is_painted(&s.image, 25, 45));
    CU_ASSERT_FALSE(is_painted(&s.image, 90, 60));
    scene_done(&s);
}

static void a_painting_is_used_again(void) {
    struct scene s;
    scene_make(&s);
    for (int i = 0; i < 100; i++)
        CU_ASSERT_EQUAL_FATAL(painting_add_annotations(&s.painting, &s.index, 0, &s.names, &s.err),
                              0);
    CU_ASSERT_EQUAL(s.painting.count, 200);
    painting_clear(&s.painting);
    CU_ASSERT_EQUAL(s.painting.count, 0);
    CU_ASSERT_EQUAL_FATAL(painting_paint(&s.painting, &s.image, s.names.fonts, &s.err), 0);
    CU_ASSERT_FALSE(is_painted(&s.image, 25, 45));
    scene_done(&s);
}

/* Masks of another size than the picture are refused by the annotation's id or result's number. */
static void what_cannot_be_painted_is_named(void) {
    struct scene s;
    cleanup_coco_results struct coco_results results = {0};
    scene_make(&s);
    coco_results_begin(&results, "found", true);
    uint32_t runs[] = {10};
    const struct rle mask = {.height = 80, .width = 120, .runs = runs, .count = 1};
    const struct coco_result result = {.image_id = 1, .category_id = 7};
    CU_ASSERT_EQUAL_FATAL(coco_results_add(&results, &result, &mask, &s.err), 0);
    CU_ASSERT_EQUAL(painting_add_result(&s.painting, &results, 0, &s.image, &s.names, 0, &s.err),
                    -1);
    ASSERT_CONTAINS(s.err.text, "result 1");
    scene_done(&s);
}

static void two_pictures_stand_side_by_side(void) {
    cleanup_image struct image left = {0}, right = {0}, both = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(image_resize(&left, 5, 4, &err), 0);
    CU_ASSERT_EQUAL(image_resize(&right, 7, 4, &err), 0);
    memset(left.pixels, 1, 5 * 4 * 3);
    memset(right.pixels, 2, 7 * 4 * 3);
    CU_ASSERT_EQUAL_FATAL(painting_beside(&both, &left, &right, &err), 0);
    CU_ASSERT(both.width == 16 && both.height == 4);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 16; x++)
            CU_ASSERT_EQUAL(image_pixel(&both, x, y)[1], x < 5 ? 1 : x < 9 ? 255 : 2);
    CU_ASSERT_EQUAL(image_resize(&right, 7, 3, &err), 0);
    CU_ASSERT_EQUAL(painting_beside(&both, &left, &right, &err), -1);
    ASSERT_CONTAINS(err.text, "heights 4 and 3");
}

UNIT_SUITE("draw.painting", UNIT(annotations_are_painted_each_in_its_colour),
           UNIT(results_are_painted_with_their_scores), UNIT(a_painting_is_used_again),
           UNIT(what_cannot_be_painted_is_named), UNIT(two_pictures_stand_side_by_side))
