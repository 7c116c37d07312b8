#include "trainer/data/draw/painter.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/coco/coco_load.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 120, HEIGHT = 80, LINE = 4 };

/* The object that is true lies left, what was found right. */
static const char SET[] =
    "{\"images\":[{\"id\":9,\"file_name\":\"a\",\"width\":120,\"height\":80}],"
    "\"categories\":[{\"id\":7,\"name\":\"one\"}],\"annotations\":["
    "{\"id\":1,\"image_id\":9,\"category_id\":7,\"bbox\":[4,30,40,40],\"area\":1,"
    "\"segmentation\":[[4,30,44,30,44,70,4,70]]}]}";

struct scene {
    struct coco_index index;
    struct coco_results results;
    struct draw_names names;
    struct painter painter;
    struct image image;
    struct error err;
};

static void add(struct scene *s, int64_t image, double score, double x) {
    const struct coco_result result = {
        .image_id = image, .category_id = 7, .score = score, .box = {x, 30, 20, 20}};
    CU_ASSERT_EQUAL_FATAL(coco_results_add(&s->results, &result, NULL, &s->err), 0);
}

static void scene_make(struct scene *s) {
    char path[PATH_MAX];
    *s = (struct scene){0};
    snprintf(path, sizeof(path), "%s/set.json", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_publish(path, SET, strlen(SET), 0644, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_load(&s->index, path, NULL, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(draw_names_of_index(&s->names, &s->index, NULL, &s->err), 0);
    CU_ASSERT_EQUAL(s->names.count, 1);
    coco_results_begin(&s->results, "found", false);
    add(s, 9, 0.5, 60);
    add(s, 9, 0.49, 90);
    add(s, 8, 0.9, 0);
    CU_ASSERT_EQUAL_FATAL(image_resize(&s->image, WIDTH, HEIGHT, &s->err), 0);
    memset(s->image.pixels, 100, WIDTH * HEIGHT * IMAGE_CHANNELS);
}

static void scene_done(struct scene *s) {
    painter_done(&s->painter);
    image_done(&s->image);
    draw_names_done(&s->names);
    coco_results_done(&s->results);
    coco_index_done(&s->index);
}

static bool is_painted(const struct image *image, int x, int y) {
    static const uint8_t grey[] = {100, 100, 100};
    return memcmp(image_pixel(image, x, y), grey, sizeof(grey)) != 0;
}

/* The lower left corner of the frame of the true box, and of those that were found. */
enum { TRUTH_X = 4, TRUTH_Y = 68, FOUND_X = 60, WEAK_X = 90, FOUND_Y = 48 };

static const struct image *paint(struct scene *s, bool found, bool truth, size_t *ret_objects) {
    const struct painter_request ask = {.index = &s->index,
                                        .results = found ? &s->results : NULL,
                                        .truth = truth,
                                        .least_score = 0.5,
                                        .names = &s->names};
    const struct image *ret = NULL;
    CU_ASSERT_EQUAL_FATAL(
        painter_paint(&s->painter, &ask, 0, &s->image, &ret, ret_objects, &s->err), 0);
    return ret;
}

static void the_truth_alone(void) {
    struct scene s;
    size_t objects = 0;
    scene_make(&s);
    CU_ASSERT_PTR_EQUAL(paint(&s, false, false, &objects), &s.image);
    CU_ASSERT_EQUAL(objects, 1);
    CU_ASSERT(is_painted(&s.image, TRUTH_X, TRUTH_Y));
    CU_ASSERT_FALSE(is_painted(&s.image, FOUND_X, FOUND_Y));
    scene_done(&s);
}

static void what_was_found_from_the_least_score_on_in_this_picture(void) {
    struct scene s;
    size_t objects = 0;
    scene_make(&s);
    CU_ASSERT_PTR_EQUAL(paint(&s, true, false, &objects), &s.image);
    CU_ASSERT_EQUAL(objects, 1);
    CU_ASSERT(is_painted(&s.image, FOUND_X, FOUND_Y));
    CU_ASSERT_FALSE(is_painted(&s.image, TRUTH_X, TRUTH_Y));
    CU_ASSERT_FALSE(is_painted(&s.image, WEAK_X, FOUND_Y));
    scene_done(&s);
}

static void both_side_by_side_the_truth_on_the_left(void) {
    struct scene s;
    size_t objects = 0;
    scene_make(&s);
    const struct image *both = paint(&s, true, true, &objects);
    CU_ASSERT_EQUAL(objects, 1);
    CU_ASSERT(both->width == 2 * WIDTH + LINE && both->height == HEIGHT);
    CU_ASSERT(is_painted(both, TRUTH_X, TRUTH_Y));
    CU_ASSERT_FALSE(is_painted(both, FOUND_X, FOUND_Y));
    CU_ASSERT(is_painted(both, WIDTH + LINE + FOUND_X, FOUND_Y));
    CU_ASSERT_FALSE(is_painted(both, WIDTH + LINE + TRUTH_X, TRUTH_Y));
    scene_done(&s);
}

UNIT_SUITE("data.painter", UNIT(the_truth_alone),
           UNIT(what_was_found_from_the_least_score_on_in_this_picture),
           UNIT(both_side_by_side_the_truth_on_the_left))
