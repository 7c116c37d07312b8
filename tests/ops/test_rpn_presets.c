/* What other trainings of Mask R-CNN do differently around a region proposal network (detectron2;
 * maskrcnn-benchmark, from which MLPerf's reference comes): each switch on inputs of which the
 * answer is worked out by hand, and that without the switch it is another one. */
#include "tests/ops/harness.h"
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/image_size.h"
#include "trainer/math/sample_key.h"
#include "trainer/models/detect_preset.h"

#include <math.h>

enum { PICTURES = 2 };

/* One level of 4 x 4 cells of 4 px: 48 anchors of 8 x 4, 6 x 6 and 4 x 8. */
#define LEVEL                                                                                      \
    .levels = 1, .canvas_h = 16, .canvas_w = 16, .stride_h = {4}, .stride_w = {4},                 \
    .half_w = {{4, 3, 2}}, .half_h = {{2, 3, 4}}, .coder = {1, 1, 1, 1}, .foreground_iou = 0.7F,   \
    .background_iou = 0.3F

struct run {
    struct op_case row;
    struct op_graph g;
};

static void run_with(struct run *run, enum op_kind kind, const struct op_attr *attr, int losses,
                     void (*make)(struct op_graph *g, int inputs[OP_INPUTS_MAX])) {
    struct backend *ref = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&ref, &err), 0);
    *run = (struct run){.row = {.name = "preset", .kind = kind, .make = make, .losses = losses}};
    run->row.x = shape_1(1);
    run->row.attr = *attr;
    op_graph_init(&run->g, &run->row, DTYPE_F32);
    CU_ASSERT_EQUAL_FATAL(op_graph_run(&run->g, ref, 0, false, run->g.value, &err), 0);
    backend_close(ref);
}

static void run_op(struct run *run, enum op_kind kind, struct detect_attr detect,
                   void (*make)(struct op_graph *g, int inputs[OP_INPUTS_MAX])) {
    const struct op_attr attr = {.detect = detect, .gradient_scale = 1};
    run_with(run, kind, &attr, 2, make);
}

static const void *made(const struct run *run, int slot) {
    return run->g.value[run->g.graph.ops[0].outputs[slot]];
}

static void *given(struct op_graph *g, int inputs[OP_INPUTS_MAX], int slot, enum dtype dtype,
                   struct shape shape) {
    inputs[slot] = op_graph_input(g, dtype, shape, FILL_GIVEN);
    return op_graph_values(g, inputs[slot]);
}

static void give_sizes(struct op_graph *g, int inputs[OP_INPUTS_MAX], int slot) {
    int32_t(*size)[IMAGE_SIZE_FIELDS] =
        given(g, inputs, slot, DTYPE_I32, shape_2(PICTURES, IMAGE_SIZE_FIELDS));
    for (int n = 0; n < PICTURES; n++)
        size[n][IMAGE_SIZE_H] = size[n][IMAGE_SIZE_W] = size[n][IMAGE_SIZE_VALID] = 16;
}

/* --- anchors that leave the picture ----------------------------------------------------------- */

static void make_empty_pictures(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    (void)given(g, inputs, RPN_TARGETS_GT_BOX, DTYPE_F32, shape_3(PICTURES, 1, 4));
    (void)given(g, inputs, RPN_TARGETS_GT_COUNT, DTYPE_I32, shape_1(PICTURES));
    give_sizes(g, inputs, RPN_TARGETS_IMAGE_SIZE);
    (void)given(g, inputs, RPN_TARGETS_KEY, DTYPE_I32, shape_2(PICTURES, SAMPLE_KEY_WORDS));
}

/* Cells at 0, 4, 8, 12; x - 4 >= 0 and x + 4 < 16 leaves 4 and 8, y - 2 and y + 2 leave 4, 8 and
 * 12: so 2 * 3 of the wide ones, as many high ones and, from 3 to 13, 2 * 2 square ones (12 + 3 is
 * 15: 3 * 3). */
static void anchors_outside_are_ignored(void) {
    struct run all, inside;
    struct detect_attr attr = {LEVEL, .pre_nms = 1, .samples = 48};
    run_op(&all, OP_RPN_TARGETS, attr, make_empty_pictures);
    attr.flags = DETECT_ANCHORS_INSIDE;
    run_op(&inside, OP_RPN_TARGETS, attr, make_empty_pictures);
    CU_ASSERT_EQUAL(((const int32_t *)made(&all, RPN_TARGETS_COUNT))[1], 48);
    CU_ASSERT_EQUAL(((const int32_t *)made(&inside, RPN_TARGETS_COUNT))[1], 6 + 9 + 6);
    /* The first that is left is the square one at (4, 4). */
    CU_ASSERT_EQUAL(((const int32_t *)made(&inside, RPN_TARGETS_INDEX))[0], (4 + 1) * 3);
    op_graph_done(&all.g);
    op_graph_done(&inside.g);
}

/* --- losses ----------------------------------------------------------------------------------- */

/* One anchor of the batch is sampled: its logit is 0, one of its deltas 1 away. */
static void make_one_sample(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct shape list = shape_2(PICTURES, 8);
    (void)given(g, inputs, RPN_LOSS_LOGITS, DTYPE_F32, shape_2(PICTURES * 16, 3));
    float *deltas = given(g, inputs, RPN_LOSS_DELTAS, DTYPE_F32, shape_2(PICTURES * 16, 12));
    int32_t *index = given(g, inputs, RPN_LOSS_INDEX, DTYPE_I32, list);
    int32_t *label = given(g, inputs, RPN_LOSS_LABEL, DTYPE_I32, list);
    (void)given(g, inputs, RPN_LOSS_TARGET, DTYPE_F32, shape_3(PICTURES, 8, 4));
    for (int i = 0; i < PICTURES * 8; i++)
        index[i] = label[i] = i == 0 ? 1 : -1;
    deltas[4] = 1;
}

static void losses_may_be_over_all_slots_and_of_absolute_differences(void) {
    struct run plain, other;
    struct detect_attr attr = {LEVEL, .pre_nms = 1, .samples = 8, .beta = 1 / 9.0F};
    run_op(&plain, OP_RPN_LOSS, attr, make_one_sample);
    attr.flags = DETECT_RPN_FIXED_COUNT;
    attr.beta = 0;
    run_op(&other, OP_RPN_LOSS, attr, make_one_sample);
    const float *a = made(&plain, RPN_LOSS_VALUES), *b = made(&other, RPN_LOSS_VALUES);
    CU_ASSERT_DOUBLE_EQUAL(a[RPN_LOSS_OBJECTNESS], log(2), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(a[RPN_LOSS_BOX], 1 - 1 / 18.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(b[RPN_LOSS_OBJECTNESS], log(2) / 16, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(b[RPN_LOSS_BOX], 1 / 16.0, 1e-6);
    op_graph_done(&plain.g);
    op_graph_done(&other.g);
}

/* --- suppression in whole pixels -------------------------------------------------------------- */

/* 12 of 20 in common; in whole pixels 20 of 30. */
static void make_two_boxes(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    float(*box)[2][4] = given(g, inputs, NMS_BOX, DTYPE_F32, shape_3(PICTURES, 2, 4));
    float(*score)[2] = given(g, inputs, NMS_SCORE, DTYPE_F32, shape_2(PICTURES, 2));
    for (int n = 0; n < PICTURES; n++) {
        for (int i = 0; i < 2; i++) {
            box[n][i][0] = (float)i;
            box[n][i][2] = (float)(4 + i);
            box[n][i][3] = 4;
        }
        score[n][0] = 1;
    }
}

static void boxes_may_hold_their_last_pixels(void) {
    struct run plain, whole;
    struct detect_attr attr = {LEVEL, .pre_nms = 2, .nms_threshold = 0.63F};
    run_op(&plain, OP_NMS, attr, make_two_boxes);
    attr.flags = DETECT_PLUS_ONE;
    run_op(&whole, OP_NMS, attr, make_two_boxes);
    const int32_t *a = made(&plain, NMS_KEEP), *b = made(&whole, NMS_KEEP);
    CU_ASSERT(a[0] == 1 && a[1] == 1 && b[0] == 1 && b[1] == 0);
    op_graph_done(&plain.g);
    op_graph_done(&whole.g);
}

/* --- what ranks proposals --------------------------------------------------------------------- */

/* Logits with a probability of 1 in f32; the second anchor's box has no width. */
static void make_sure_boxes(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    float *deltas = given(g, inputs, RPN_BOXES_DELTAS, DTYPE_F32, shape_2(PICTURES * 16, 12));
    float(*score)[3] = given(g, inputs, RPN_BOXES_SCORE, DTYPE_F32, shape_2(PICTURES, 3));
    int32_t(*index)[3] = given(g, inputs, RPN_BOXES_INDEX, DTYPE_I32, shape_2(PICTURES, 3));
    give_sizes(g, inputs, RPN_BOXES_IMAGE_SIZE);
    for (int n = 0; n < PICTURES; n++)
        for (int i = 0; i < 3; i++) {
            score[n][i] = (float)(30 - i);
            index[n][i] = (4 + 1) * 3 + i;
        }
    deltas[(4 + 1) * 12 + 4 + 2] = -200;
}

static void logits_may_rank_and_empty_boxes_count(void) {
    struct run tv, d2, mlperf;
    struct detect_attr attr = {LEVEL, .pre_nms = 3, .min_side = 1e-3F};
    run_op(&tv, OP_RPN_BOXES, attr, make_sure_boxes);
    attr.min_side = 0;
    attr.flags = DETECT_ORDER_BY_LOGIT | DETECT_SIDE_ABOVE;
    run_op(&d2, OP_RPN_BOXES, attr, make_sure_boxes);
    attr.flags = 0;
    run_op(&mlperf, OP_RPN_BOXES, attr, make_sure_boxes);
    const float *a = made(&tv, RPN_BOXES_RANKED_BY), *b = made(&d2, RPN_BOXES_RANKED_BY);
    const float *c = made(&mlperf, RPN_BOXES_RANKED_BY);
    CU_ASSERT(a[0] == 1 && a[1] == -INFINITY && a[2] == 1);
    CU_ASSERT(b[0] == 30 && b[1] == -INFINITY && b[2] == 28);
    CU_ASSERT(c[0] == 1 && c[1] == 1 && c[2] == 1);
    op_graph_done(&tv.g);
    op_graph_done(&d2.g);
    op_graph_done(&mlperf.g);
}

/* --- the best of the batch -------------------------------------------------------------------- */

/* All of the first picture's candidates are better than those of the second. */
static void make_unlike_pictures(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    (void)given(g, inputs, PROPOSALS_FROM_BOX, DTYPE_F32, shape_3(PICTURES, 5, 4));
    float(*score)[5] = given(g, inputs, PROPOSALS_FROM_SCORE, DTYPE_F32, shape_2(PICTURES, 5));
    int32_t *keep = given(g, inputs, PROPOSALS_KEEP, DTYPE_I32, shape_2(PICTURES, 5));
    for (int i = 0; i < PICTURES * 5; i++) {
        score[i / 5][i % 5] = (float)(i < 5 ? 10 + i : i);
        keep[i] = i != 4;
    }
}

static void proposals_may_be_the_best_of_the_batch(void) {
    struct run each, pooled;
    struct detect_attr attr = {LEVEL, .pre_nms = 5, .post_nms = 3};
    run_op(&each, OP_PROPOSALS, attr, make_unlike_pictures);
    attr.flags = DETECT_TOP_OF_BATCH;
    run_op(&pooled, OP_PROPOSALS, attr, make_unlike_pictures);
    const int32_t *a = made(&each, PROPOSALS_COUNT), *b = made(&pooled, PROPOSALS_COUNT);
    const float *score = made(&pooled, PROPOSALS_SCORE);
    CU_ASSERT(a[0] == 3 && a[1] == 3 && b[0] == 4 && b[1] == 2);
    /* 13 to 10 of the first, 9 and 8 of the second; five slots each. */
    CU_ASSERT(score[0] == 13 && score[3] == 10 && score[4] == 0);
    CU_ASSERT(score[5] == 9 && score[6] == 8 && score[7] == 0);
    op_graph_done(&each.g);
    op_graph_done(&pooled.g);
}

/* --- norms with and without an epsilon -------------------------------------------------------- */

/* 1 by a variance of 3e-5. */
static void make_narrow(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    static const float values[] = {
        [NORM_X] = 1, [NORM_GAMMA] = 1, [NORM_BETA] = 0, [NORM_MEAN] = 0, [NORM_VARIANCE] = 3e-5F};
    for (int slot = NORM_X; slot <= NORM_VARIANCE; slot++) {
        struct shape shape = slot == NORM_X ? shape_4(PICTURES, 1, 1, 1) : shape_1(1);
        float *value = given(g, inputs, slot, DTYPE_F32, shape);
        value[0] = values[slot];
    }
}

/* 1 / sqrt(3e-5 + 1e-5), as tv and d2 have it, and 1 / sqrt(3e-5), as mlperf and torchvision's
 * first weights want it. */
static void norms_may_have_no_epsilon(void) {
    static const double epsilons[] = {1e-5, 0}, wanted[] = {158.1139, 182.5742};
    for (int i = 0; i < 2; i++) {
        struct run run;
        const struct op_attr attr = {.epsilon = epsilons[i]};
        run_with(&run, OP_BATCH_NORM_INFERENCE, &attr, 0, make_narrow);
        CU_ASSERT_DOUBLE_EQUAL(*(const float *)made(&run, NORM_Y), wanted[i], 1e-3);
        op_graph_done(&run.g);
    }
}

/* --- which class is the background ------------------------------------------------------------ */

enum { CLASSES = 3 };

/* Two regions far apart: the first is class 0 by its logits, the second class 3, the last one. */
static void make_two_regions(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    float(*logits)[CLASSES + 1] =
        given(g, inputs, DETECTIONS_LOGITS, DTYPE_F32, shape_2(PICTURES * 2, CLASSES + 1));
    (void)given(g, inputs, DETECTIONS_DELTAS, DTYPE_F32, shape_2(PICTURES * 2, 4 * (CLASSES + 1)));
    float(*box)[2][4] = given(g, inputs, DETECTIONS_BOX, DTYPE_F32, shape_3(PICTURES, 2, 4));
    int32_t *count = given(g, inputs, DETECTIONS_COUNT, DTYPE_I32, shape_1(PICTURES));
    give_sizes(g, inputs, DETECTIONS_SIZE);
    for (int n = 0; n < PICTURES; n++) {
        count[n] = 2;
        logits[n * 2][0] = logits[n * 2 + 1][CLASSES] = 20;
        for (int i = 0; i < 2; i++) {
            box[n][i][0] = box[n][i][1] = (float)(8 * i);
            box[n][i][2] = box[n][i][3] = (float)(8 * i + 6);
        }
    }
}

/* Detectron2 has the background last, torchvision and maskrcnn-benchmark first: here it is the
 * first for all of them, as in the files (models/detect_preset.h), so the last class is an object.
 */
static void the_background_is_class_0_of_all(void) {
    static const char *const names[] = {"tv", "d2", "mlperf"};
    static const int sides[DETECT_LEVELS_MAX] = {8, 16, 32, 64, 128};
    for (int i = 0; i < 3; i++) {
        const struct detect_canvas canvas = {
            .height = 16, .width = 16, .anchors = sides, .objects = 1, .classes = CLASSES};
        struct run run;
        run_op(&run, OP_DETECTIONS, detect_preset_regions(detect_preset_find(names[i]), &canvas),
               make_two_regions);
        const int32_t *count = made(&run, DETECTIONS_FOUND_COUNT);
        const int32_t *label = made(&run, DETECTIONS_FOUND_LABEL);
        const float *box = made(&run, DETECTIONS_FOUND_BOX);
        CU_ASSERT(count[0] == 1 && count[1] == 1);
        CU_ASSERT(label[0] == CLASSES && label[1] == -1);
        CU_ASSERT(box[0] == 8 && box[2] == 14);
        op_graph_done(&run.g);
    }
}

UNIT_SUITE("ops.rpn_presets", UNIT(norms_may_have_no_epsilon),
           UNIT(the_background_is_class_0_of_all), UNIT(anchors_outside_are_ignored),
           UNIT(losses_may_be_over_all_slots_and_of_absolute_differences),
           UNIT(boxes_may_hold_their_last_pixels), UNIT(logits_may_rank_and_empty_boxes_count),
           UNIT(proposals_may_be_the_best_of_the_batch))
