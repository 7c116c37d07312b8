#include "trainer/data/detect/detections.h"

#include "common/file/file.h"
#include "tests/unit/trainer/data/coco/coco_files.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/coco/coco_results_write.h"
#include "trainer/data/coco/coco_task.h"
#include "trainer/eval/coco_eval.h"
#include "trainer/eval/coco_stats.h"
#include "trainer/eval/rle_text.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { SIDE = 28 };

static const char SET[] =
    "{\"annotations\":["
    "{\"id\":5,\"image_id\":9,\"category_id\":3,\"bbox\":[1,2,3,4],\"area\":30,\"iscrowd\":0,"
    "\"segmentation\":[[2,2,7,2,7,7,2,7]]},"
    "{\"id\":8,\"image_id\":4,\"category_id\":90,\"bbox\":[0,0,5,5],\"area\":2000,"
    "\"segmentation\":{\"counts\":[50,50],\"size\":[10,10]}}]," TWO_IMAGES "," TWO_CATEGORIES "}";

struct scene {
    struct coco_index index;
    struct detection_set set;
    struct coco_results results;
    struct detections_scratch room;
    size_t left_out;
    struct error err;
};

static void scene_make(struct scene *s, bool masks) {
    const struct detection_options options = {.pick = DETECTION_PICK_ALL};
    *s = (struct scene){0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&s->index, write_text("set.json", SET), NULL, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(detection_set_make(&s->set, &s->index, "/p", &options, &s->err), 0);
    coco_results_begin(&s->results, "detections", masks);
}

static void scene_done(struct scene *s) {
    detections_scratch_done(&s->room);
    coco_results_done(&s->results);
    detection_set_done(&s->set);
    coco_index_done(&s->index);
}

/* Two detections in the picture of 20 x 10, seen as 60 x 30, and logits that are all in or out. */
static const float BOXES[2][4] = {{3, 6, 30, 24}, {15, 3, 66, 33}};
static const float SCORES[2] = {0.9F, 0.1F};
static const int32_t LABELS[2] = {2, 1};
static float logits[2][SIDE * SIDE];

static struct detections two_found(void) {
    for (int i = 0; i < SIDE * SIDE; i++) {
        logits[0][i] = 9;
        logits[1][i] = i % SIDE < SIDE / 2 ? 9 : -9;
    }
    return (struct detections){.box = BOXES[0],
                               .score = SCORES,
                               .label = LABELS,
                               .logits = logits[0],
                               .side = SIDE,
                               .count = 2,
                               .scaled = {30, 60}};
}

static void boxes_and_masks_come_back_to_the_picture(void) {
    struct scene s;
    cleanup_rle struct rle mask = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_coco_outline struct coco_outline room = {0};
    scene_make(&s, true);
    struct detections found = two_found();
    CU_ASSERT_EQUAL_FATAL(
        detections_add(&s.results, &s.room, &s.set, 1, &found, MASK_PASTE_TV, &s.left_out, &s.err),
        0);
    CU_ASSERT_EQUAL_FATAL(s.results.count, 2);
    const float third = 20.0F / 60.0F;
    const struct coco_result *one = &s.results.list[0], *other = &s.results.list[1];
    CU_ASSERT(one->image_id == 9 && one->category_id == 90 && one->score == 0.9F);
    CU_ASSERT(other->image_id == 9 && other->category_id == 3 && other->score == 0.1F);
    CU_ASSERT(one->box[0] == 3 * third && one->box[1] == 6 * third);
    CU_ASSERT(one->box[2] == 30 * third - 3 * third && one->box[3] == 24 * third - 6 * third);
    CU_ASSERT(other->box[0] + other->box[2] > 20);
    const struct coco_segment segment = coco_result_segment(&s.results, 0);
    CU_ASSERT_EQUAL_FATAL(coco_segment_mask(&segment, &room, &scratch, 10, 20, &mask, &s.err), 0);
    CU_ASSERT(mask.height == 10 && mask.width == 20);
    double box[4];
    rle_box(&mask, box);
    /* The box of 1..10 x 2..8 grown by two in twenty-eight, cut to 0..10 x 1..8. */
    CU_ASSERT(box[0] <= 1 && box[0] + box[2] >= 10 && box[1] <= 2 && box[1] + box[3] >= 8);
    CU_ASSERT(box[2] <= 11 && box[3] <= 8);
    scene_done(&s);
}

static void detectron2_cuts_boxes_and_drops_empty_ones(void) {
    struct scene s;
    scene_make(&s, false);
    struct detections found = two_found();
    static const float boxes[2][4] = {{3, 6, 300, 24}, {61, 3, 66, 33}};
    found.box = boxes[0];
    found.logits = NULL;
    CU_ASSERT_EQUAL_FATAL(
        detections_add(&s.results, &s.room, &s.set, 1, &found, MASK_PASTE_D2, &s.left_out, &s.err),
        0);
    CU_ASSERT_EQUAL_FATAL(s.results.count, 1);
    CU_ASSERT(s.results.list[0].box[0] + s.results.list[0].box[2] == 20);
    CU_ASSERT_EQUAL(s.results.list[0].kind, COCO_SEGMENT_NONE);
    CU_ASSERT_EQUAL(s.left_out, 0);
    scene_done(&s);
}

/* Pixels 3 .. 30 of 60, brought back to 20, are a third, and one more. */
static void boxes_may_hold_their_last_pixels(void) {
    struct scene s;
    scene_make(&s, false);
    struct detections found = two_found();
    found.logits = NULL;
    found.last_pixel = true;
    CU_ASSERT_EQUAL_FATAL(
        detections_add(&s.results, &s.room, &s.set, 1, &found, MASK_PASTE_TV, &s.left_out, &s.err),
        0);
    const struct coco_result *one = &s.results.list[0];
    CU_ASSERT_DOUBLE_EQUAL(one->box[0], 1, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(one->box[2], 27 / 3.0 + 1, 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(one->box[3], 18 / 3.0 + 1, 1e-5);
    scene_done(&s);
}

static void what_is_no_detection_is_counted(void) {
    struct scene s;
    scene_make(&s, false);
    static const float boxes[4][4] = {{1, 1, 5, 5}, {1, NAN, 5, 5}, {1, 1, INFINITY, 5}};
    static const float scores[4] = {NAN, 0.5F, 0.5F, 0.5F};
    static const int32_t labels[4] = {1, 1, 1, 3};
    const struct detections found = {
        .box = boxes[0], .score = scores, .label = labels, .count = 4, .scaled = {10, 20}};
    CU_ASSERT_EQUAL(
        detections_add(&s.results, &s.room, &s.set, 1, &found, MASK_PASTE_TV, &s.left_out, &s.err),
        0);
    CU_ASSERT_EQUAL(s.results.count, 0);
    CU_ASSERT_EQUAL(s.left_out, 4);
    scene_done(&s);
}

static void check_same(const struct coco_results *a, const struct coco_results *b, bool boxes,
                       bool masks) {
    CU_ASSERT_EQUAL_FATAL(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct coco_result *x = &a->list[i], *y = &b->list[i];
        CU_ASSERT(x->image_id == y->image_id && x->category_id == y->category_id);
        CU_ASSERT(x->score == y->score);
        CU_ASSERT_EQUAL(y->has_box, boxes);
        if (boxes)
            CU_ASSERT_EQUAL(memcmp(x->box, y->box, sizeof(x->box)), 0);
        const struct coco_segment s = coco_result_segment(a, i), t = coco_result_segment(b, i);
        CU_ASSERT_EQUAL(t.kind, masks ? COCO_SEGMENT_RUNS : COCO_SEGMENT_NONE);
        if (masks)
            CU_ASSERT(s.size == t.size && memcmp(s.bytes, t.bytes, s.size) == 0);
    }
}

static void the_json_comes_back_to_the_bit(void) {
    struct scene s;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/results.json", unit_temp_dir());
    scene_make(&s, true);
    struct detections found = two_found();
    for (size_t sample = 0; sample < 2; sample++)
        CU_ASSERT_EQUAL_FATAL(detections_add(&s.results, &s.room, &s.set, sample, &found,
                                             MASK_PASTE_TV, &s.left_out, &s.err),
                              0);
    for (int parts = COCO_PARTS_BOXES; parts <= COCO_PARTS_BOTH; parts++) {
        cleanup_coco_results struct coco_results again = {0};
        CU_ASSERT_EQUAL_FATAL(coco_results_write(&s.results, parts, path, &s.err), 0);
        CU_ASSERT_EQUAL_FATAL(coco_results_read(&again, path, &s.err), 0);
        check_same(&s.results, &again, (parts & COCO_PARTS_BOXES) != 0,
                   (parts & COCO_PARTS_MASKS) != 0);
    }
    scene_done(&s);
}

/* Every character of the runs' alphabet, the one that JSON escapes among them. */
static void all_runs_can_be_written(void) {
    struct scene s;
    char path[PATH_MAX];
    cleanup_rle struct rle mask = {0};
    snprintf(path, sizeof(path), "%s/runs.json", unit_temp_dir());
    scene_make(&s, true);
    bool backslash = false;
    for (int64_t run = 1; run < 400; run++) {
        const struct coco_result result = {.image_id = 9, .category_id = 3, .score = 0.5};
        CU_ASSERT_EQUAL_FATAL(rle_begin(&mask, 20, 21, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(rle_add(&mask, run, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(rle_add(&mask, 420 - run, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(coco_results_add(&s.results, &result, &mask, NULL), 0);
        struct coco_runs runs;
        const struct coco_segment segment = coco_result_segment(&s.results, (size_t)run - 1);
        CU_ASSERT_EQUAL_FATAL(coco_segment_runs(&segment, &runs, NULL), 0);
        CU_ASSERT(runs.height == 20 && runs.width == 21);
        backslash |= memchr(runs.text, '\\', runs.length) != NULL;
    }
    CU_ASSERT(backslash);
    cleanup_coco_results struct coco_results again = {0};
    CU_ASSERT_EQUAL_FATAL(coco_results_write(&s.results, COCO_PARTS_MASKS, path, &s.err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_results_read(&again, path, &s.err), 0);
    check_same(&s.results, &again, false, true);
    scene_done(&s);
}

static void a_part_that_is_not_there_is_named(void) {
    struct scene s;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/none.json", unit_temp_dir());
    scene_make(&s, false);
    const struct coco_result result = {.image_id = 9, .category_id = 3, .score = 0.5};
    CU_ASSERT_EQUAL_FATAL(coco_results_add(&s.results, &result, NULL, NULL), 0);
    CU_ASSERT_EQUAL(coco_results_write(&s.results, COCO_PARTS_BOTH, path, &s.err), -1);
    ASSERT_CONTAINS(s.err.text, "detections: result 1");
    s.results.list[0].has_box = false;
    CU_ASSERT_EQUAL(coco_results_write(&s.results, COCO_PARTS_BOXES, path, &s.err), -1);
    ASSERT_CONTAINS(s.err.text, "no box");
    scene_done(&s);
}

/* Results that are the truth find all of it; areas of masks, not of boxes, sort them by size. */
static void results_are_scored(void) {
    struct scene s;
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_rle struct rle mask = {0};
    scene_make(&s, true);
    for (size_t i = 0; i < s.index.placed_count; i++) {
        const struct coco_annotation *a = &s.index.annotations[i];
        struct coco_result result = {.image_id = s.index.images[a->image].id,
                                     .category_id = s.index.categories[a->category].id,
                                     .score = 0.5};
        memcpy(result.box, a->box, sizeof(a->box));
        CU_ASSERT_EQUAL_FATAL(coco_index_mask(&s.index, a, &room, &scratch, &mask, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(coco_results_add(&s.results, &result, &mask, NULL), 0);
    }
    for (int masks = 0; masks < 2; masks++) {
        cleanup_coco_task struct coco_task task = {0};
        cleanup_coco_curves struct coco_curves curves = {0};
        double stats[COCO_STATS];
        CU_ASSERT_EQUAL_FATAL(
            coco_task_make(&task, &s.index, &s.results, masks == 1, COCO_AREA_OF_MASK, &s.err), 0);
        CU_ASSERT_EQUAL_FATAL(coco_eval(&task.input, &curves, &s.err), 0);
        CU_ASSERT_EQUAL_FATAL(coco_stats(&curves, stats, &s.err), 0);
        CU_ASSERT(stats[0] > 1 - 1e-12);
        CU_ASSERT_EQUAL(stats[8], 1);
        CU_ASSERT_EQUAL(task.input.found.list[0].area, masks == 1 ? 50 : 25);
    }
    scene_done(&s);
}

UNIT_SUITE("detect.detections", UNIT(boxes_and_masks_come_back_to_the_picture),
           UNIT(detectron2_cuts_boxes_and_drops_empty_ones), UNIT(boxes_may_hold_their_last_pixels),
           UNIT(what_is_no_detection_is_counted), UNIT(the_json_comes_back_to_the_bit),
           UNIT(all_runs_can_be_written), UNIT(a_part_that_is_not_there_is_named),
           UNIT(results_are_scored))
