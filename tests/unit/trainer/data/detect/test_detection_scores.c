#include "trainer/data/detect/detection_scores.h"

#include "tests/support/unit.h"
#include "trainer/data/coco/coco_folder.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/coco/coco_results_pack.h"
#include "trainer/data/detect/detections.h"
#include "trainer/data/shapes/coco_shapes.h"

#include <limits.h>
#include <string.h>

enum { SIDE = 28, FOUND_MAX = 16, RANKS = 3 };

/* The shapes' evaluation set, and a detector that knows the truth but for its network's coarseness:
 * boxes in a picture scaled to 200 pixels, masks as squares of 28 x 28. */
struct scene {
    struct coco_folder folder;
    struct coco_index index;
    struct detection_set set;
    struct detections_scratch room;
    struct coco_outline outline;
    struct rle_scratch scratch;
    struct rle mask;
    uint8_t pixels[128 * 128];
    float box[FOUND_MAX * 4];
    float score[FOUND_MAX];
    int32_t label[FOUND_MAX];
    float logits[FOUND_MAX * SIDE * SIDE];
    struct error err;
};

static const char *shapes_folder(void) {
    static char folder[PATH_MAX];
    struct prepare_options options = {0};
    struct error err = {0};
    if (folder[0] != '\0')
        return folder;
    snprintf(folder, sizeof(folder), "%s/shapes", unit_temp_dir());
    coco_shapes_defaults(&options);
    options.folder = folder;
    options.train = 1;
    CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&options, &err), 0);
    return folder;
}

static void scene_make(struct scene *s) {
    const struct detection_options pick = {.pick = DETECTION_PICK_ALL};
    memset(s, 0, sizeof(*s));
    CU_ASSERT_EQUAL_FATAL(coco_folder_open(&s->folder, shapes_folder(), &s->err), 0);
    CU_ASSERT_STRING_EQUAL_FATAL(s->folder.sets[1].name, "val");
    CU_ASSERT_EQUAL_FATAL(coco_load(&s->index, s->folder.sets[1].json, NULL, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(
        detection_set_make(&s->set, &s->index, s->folder.sets[1].pictures, &pick, &s->err), 0);
    CU_ASSERT_EQUAL(s->set.count, 60);
}

static void scene_done(struct scene *s) {
    detections_scratch_done(&s->room);
    coco_outline_done(&s->outline);
    rle_scratch_done(&s->scratch);
    rle_done(&s->mask);
    detection_set_done(&s->set);
    coco_index_done(&s->index);
    coco_folder_done(&s->folder);
}

/* The truth's mask as a network's square: in or out at each cell's middle. */
static void fill_logits(struct scene *s, const struct detection_object *object, float *logits) {
    const struct coco_annotation *a = &s->index.annotations[object->annotation];
    CU_ASSERT_EQUAL_FATAL(
        coco_index_mask(&s->index, a, &s->outline, &s->scratch, &s->mask, &s->err), 0);
    const struct rle_pixels pixels = {s->pixels, 128, 128, 128, 1};
    rle_decode(&s->mask, &pixels);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const float *box = object->box;
            int column = (int)(box[0] + (box[2] - box[0]) * ((float)x + 0.5F) / SIDE);
            int row = (int)(box[1] + (box[3] - box[1]) * ((float)y + 0.5F) / SIDE);
            logits[y * SIDE + x] = s->pixels[row * 128 + column] != 0 ? 6 : -6;
        }
}

static void find(struct scene *s, size_t sample, struct coco_results *results) {
    const struct detection_picture *picture = &s->set.pictures[sample];
    const float scale = 200.0F / 128.0F;
    size_t left_out = 0;
    CU_ASSERT_FATAL(picture->count <= FOUND_MAX);
    for (uint32_t i = 0; i < picture->count; i++) {
        const struct detection_object *object = &s->set.objects[picture->first + i];
        for (int k = 0; k < 4; k++)
            s->box[i * 4 + (size_t)k] = object->box[k] * scale;
        s->score[i] = 0.9F - 0.01F * (float)i;
        s->label[i] = object->label;
        fill_logits(s, object, &s->logits[i * SIDE * SIDE]);
    }
    const struct detections found = {.box = s->box,
                                     .score = s->score,
                                     .label = s->label,
                                     .logits = s->logits,
                                     .side = SIDE,
                                     .count = (int)picture->count,
                                     .scaled = {200, 200}};
    CU_ASSERT_EQUAL_FATAL(detections_add(results, &s->room, &s->set, sample, &found, MASK_PASTE_TV,
                                         &left_out, &s->err),
                          0);
    CU_ASSERT_EQUAL(left_out, 0);
}

static void check_same(const struct detection_scores *a, const struct detection_scores *b) {
    CU_ASSERT_EQUAL(memcmp(a->box, b->box, sizeof(a->box)), 0);
    CU_ASSERT_EQUAL(memcmp(a->mask, b->mask, sizeof(a->mask)), 0);
}

/* All of it by one, and by three ranks that saw every third picture. */
static void ranks_together_score_as_one(void) {
    struct scene s;
    cleanup_coco_results struct coco_results one = {0}, all = {0};
    struct detection_scores scores = {0}, again = {0};
    cleanup_buf struct buf table = {.max = 1 << 16}, values = {.max = 1 << 16};
    scene_make(&s);
    coco_results_begin(&one, "one", true);
    coco_results_begin(&all, "all", true);
    for (size_t i = 0; i < s.set.count; i++)
        find(&s, i, &one);
    for (size_t rank = 0; rank < RANKS; rank++) {
        cleanup_coco_results struct coco_results part = {0};
        cleanup_buf struct buf bytes = {.max = 1 << 24};
        coco_results_begin(&part, "part", true);
        for (size_t i = rank; i < s.set.count; i += RANKS)
            find(&s, i, &part);
        CU_ASSERT_EQUAL_FATAL(coco_results_pack(&part, &bytes, &s.err), 0);
        CU_ASSERT_EQUAL_FATAL(coco_results_unpack(&all, bytes.data, bytes.size, &s.err), 0);
    }
    CU_ASSERT_EQUAL_FATAL(coco_results_sort(&all, &s.err), 0);
    CU_ASSERT_EQUAL_FATAL(detection_scores(&s.index, &one, 1, &scores, &table, &values, &s.err), 0);
    CU_ASSERT_EQUAL_FATAL(detection_scores(&s.index, &all, 2, &again, NULL, NULL, &s.err), 0);
    check_same(&scores, &again);
    ASSERT_CONTAINS(buf_text(&table), "bbox by category\n category ");
    ASSERT_CONTAINS(buf_text(&table), "segm by category\n category ");
    CU_ASSERT(scores.masks && scores.left_out == 0);
    /* AP of masks by category, of which the whole is the mean. */
    CU_ASSERT_EQUAL_FATAL(values.size, s.index.category_count * sizeof(double));
    double sum = 0, count = 0;
    for (size_t c = 0; c < s.index.category_count; c++) {
        double value = 0;
        memcpy(&value, values.data + c * sizeof(value), sizeof(value));
        sum += value >= 0 ? value : 0;
        count += value >= 0;
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / count, scores.mask[0], 1e-12);
    /* AP and AP50 of boxes, which are exact, and of masks, which are coarse. */
    CU_ASSERT(scores.box[0] > 0.999 && scores.box[1] > 0.999);
    CU_ASSERT(scores.mask[0] > 0.8 && scores.mask[0] < 0.999);
    CU_ASSERT(scores.mask[1] > 0.999);
    scene_done(&s);
}

static void results_without_masks_have_boxes_scores_alone(void) {
    struct scene s;
    cleanup_coco_results struct coco_results none = {0};
    struct detection_scores scores = {0};
    scene_make(&s);
    coco_results_begin(&none, "none", false);
    CU_ASSERT_EQUAL_FATAL(detection_scores(&s.index, &none, 1, &scores, NULL, NULL, &s.err), 0);
    CU_ASSERT_FALSE(scores.masks);
    CU_ASSERT_EQUAL(scores.box[0], 0);
    scene_done(&s);
}

UNIT_SUITE("detect.detection_scores", UNIT(ranks_together_score_as_one),
           UNIT(results_without_masks_have_boxes_scores_alone))
