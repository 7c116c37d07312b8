/* Rows for the operators around a region proposal network (graph/op_rpn.h), with values like a
 * network's and with values that no network should give. Their selections are identical on every
 * backend. */
#include "tests/ops/cases.h"
#include "tests/ops/harness.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/image_size.h"
#include "trainer/math/random.h"
#include "trainer/math/sample_key.h"

#include <math.h>

enum { PICTURES = 3 };

/* What a row's values are like; `outputs` holds its number. */
enum manner {
    PLAIN,
    TIES,       /* few different values */
    EQUAL,      /* one value */
    NOT_FINITE, /* NaN and infinities among them */
    EMPTY       /* nothing to choose from */
};

#define EXACT                                                                                      \
    .f32_tolerance = 1e-30, .bf16_tolerance = 1e-30, .f16_tolerance = 1e-30,                       \
    .why = "bits decide what is chosen"

/* A pyramid: on a canvas of 64 x 96 it has 1536 anchors, and P6 has strides of 64 and 48. */
#define PYRAMID(count, h, w, h6, w6)                                                               \
    .levels = count, .canvas_h = h, .canvas_w = w, .stride_h = {4, 8, 16, 32, h6},                 \
    .stride_w = {4, 8, 16, 32, w6},                                                                \
    .half_w = {{6, 4, 3}, {11, 8, 6}, {23, 16, 11}, {45, 32, 23}, {91, 64, 45}},                   \
    .half_h = {{3, 4, 6}, {6, 8, 11}, {11, 16, 23}, {23, 32, 45}, {45, 64, 91}}
#define RULES                                                                                      \
    .foreground_iou = 0.7F, .background_iou = 0.3F, .min_side = 1e-3F, .coder = {1, 1, 1, 1},      \
    .beta = 1 / 9.0F
#define DETECT(...)                                                                                \
    .attr = {.gradient_scale = 1, .detect = {PYRAMID(5, 64, 96, 64, 48), RULES, __VA_ARGS__}}
#define SMALL(...)                                                                                 \
    .attr = {.gradient_scale = 1, .detect = {PYRAMID(5, 32, 32, 32, 32), RULES, __VA_ARGS__}}
#define TWO_LEVELS(...)                                                                            \
    .attr = {.gradient_scale = 1, .detect = {PYRAMID(2, 64, 96, 64, 48), RULES, __VA_ARGS__}}
/* Without torchvision's rules, except for its thresholds. */
#define PRESET(...)                                                                                \
    .attr = {.gradient_scale = 1,                                                                  \
             .detect = {PYRAMID(5, 64, 96, 64, 48), .foreground_iou = 0.7F,                        \
                        .background_iou = 0.3F, .coder = {1, 1, 1, 1}, .anchor_offset = 0.5F,      \
                        __VA_ARGS__}}
#define CHOOSE(pre, post, threshold)                                                               \
    DETECT(.pre_nms = pre, .post_nms = post, .nms_threshold = threshold)
#define TEACH(...) .pre_nms = 1, __VA_ARGS__
#define MADE(name, manner) .x = {.rank = 2, .dim = {PICTURES, 1}}, .outputs = (manner), .make = name

static enum manner manner_of(const struct op_graph *g) {
    return (enum manner)g->row->outputs;
}

/* --- values ----------------------------------------------------------------------------------- */

static double odd_number(struct random *random) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, -0.0};
    return odd[random_below(random, 6)];
}

static double score_value(enum manner manner, struct random *random) {
    double value = random_normal(random) * 3;
    if (manner == TIES)
        return round(value);
    if (manner == NOT_FINITE && random_below(random, 5) == 0)
        return odd_number(random);
    return manner == EQUAL ? 0.25 : value;
}

/* Makes one tensor per level with COLUMNS numbers per pixel, in the wide type. */
static void make_levels(struct op_graph *g, int inputs[OP_INPUTS_MAX], int slot, int columns,
                        struct random *random) {
    const struct anchor_grid grid = detect_grid(&g->row->attr.detect);
    enum dtype wide = dtype_wide(g->graph.dtype);
    for (int i = 0; i < grid.levels; i++) {
        int64_t pixels = (int64_t)grid.level[i].height * grid.level[i].width;
        struct shape shape = shape_2(PICTURES * pixels, columns);
        int tensor = inputs[slot + i] = op_graph_input(g, wide, shape, FILL_GIVEN);
        void *values = op_graph_values(g, tensor);
        for (int64_t k = 0; k < shape_count(&shape); k++)
            value_set(values, wide, k, score_value(manner_of(g), random) * (columns > 3 ? 0.1 : 1));
    }
}

static int make_sizes(struct op_graph *g) {
    static const int32_t sizes[PICTURES][IMAGE_SIZE_FIELDS] = {
        {40, 60, 64, 96, 0, 1}, {40, 60, 50, 77, 1, 1}, {9, 9, 30, 96, 0, 1}};
    int tensor = op_graph_input(g, DTYPE_I32, shape_2(PICTURES, IMAGE_SIZE_FIELDS), FILL_GIVEN);
    int32_t *values = op_graph_values(g, tensor);
    for (int i = 0; i < PICTURES * IMAGE_SIZE_FIELDS; i++)
        values[i] = sizes[i / IMAGE_SIZE_FIELDS][i % IMAGE_SIZE_FIELDS];
    return tensor;
}

static int candidates(const struct op_graph *g) {
    const struct detect_candidates places = detect_candidates(&g->row->attr.detect);
    return places.first[places.levels];
}

static int make_list(struct op_graph *g, enum dtype dtype, int64_t width) {
    struct shape shape =
        width == 0 ? shape_2(PICTURES, candidates(g)) : shape_3(PICTURES, candidates(g), width);
    return op_graph_input(g, dtype, shape, FILL_GIVEN);
}

/* --- top k, boxes ----------------------------------------------------------------------------- */

static void make_top_k(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct random random = random_stream(3, 0, 1);
    make_levels(g, inputs, RPN_TOP_K_LOGITS, ANCHOR_SHAPES, &random);
}

/* Marks all pictures but the second as absent. */
static void take_pictures_away(struct op_graph *g, int sizes) {
    int32_t *size = g->value[sizes];
    for (int n = 0; n < PICTURES; n++)
        size[n * IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID] = n == 1;
}

static void make_boxes(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct anchor_grid grid = detect_grid(&g->row->attr.detect);
    const struct detect_candidates places = detect_candidates(&g->row->attr.detect);
    struct random random = random_stream(3, 0, 2);
    make_levels(g, inputs, RPN_BOXES_DELTAS, 4 * ANCHOR_SHAPES, &random);
    inputs[RPN_BOXES_SCORE] = make_list(g, DTYPE_F32, 0);
    inputs[RPN_BOXES_INDEX] = make_list(g, DTYPE_I32, 0);
    inputs[RPN_BOXES_IMAGE_SIZE] = make_sizes(g);
    if (manner_of(g) == EMPTY)
        take_pictures_away(g, inputs[RPN_BOXES_IMAGE_SIZE]);
    float *score = op_graph_values(g, inputs[RPN_BOXES_SCORE]);
    int32_t *index = op_graph_values(g, inputs[RPN_BOXES_INDEX]);
    for (int n = 0, at = 0; n < PICTURES; n++)
        for (int level = 0; level < grid.levels; level++)
            for (int i = places.first[level]; i < places.first[level + 1]; i++, at++) {
                uint32_t count = (uint32_t)anchor_level_count(&grid.level[level]);
                index[at] = grid.level[level].first + (int)random_below(&random, count);
                score[at] = (float)score_value(manner_of(g), &random);
            }
}

/* --- suppression, proposals ------------------------------------------------------------------- */

/* Makes a box near one of a few places, so that many overlap; some are empty or inverted. */
static void random_box(struct random *random, float box[4]) {
    double x = random_below(random, 4) * 25 + random_normal(random) * 3;
    double y = random_below(random, 3) * 25 + random_normal(random) * 3;
    box[0] = (float)x;
    box[1] = (float)y;
    box[2] = (float)(x + random_between(random, 8, 24));
    box[3] = (float)(y + random_between(random, 8, 24));
    if (random_below(random, 12) == 0)
        box[2] = box[0];
    if (random_below(random, 20) == 0)
        box[3] = box[1] - 5;
}

static void make_ranked_boxes(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct random random = random_stream(3, 0, 3);
    inputs[0] = make_list(g, DTYPE_F32, 4);
    inputs[1] = make_list(g, DTYPE_F32, 0);
    float *box = op_graph_values(g, inputs[0]), *score = op_graph_values(g, inputs[1]);
    for (int i = 0; i < PICTURES * candidates(g); i++) {
        random_box(&random, box + i * 4);
        for (int k = 0; k < 4 && i > 0 && random_below(&random, 6) == 0; k++)
            box[i * 4 + k] = box[i * 4 - 4 + k];
        score[i] = (float)score_value(manner_of(g), &random);
        if (manner_of(g) == EMPTY || random_below(&random, 9) == 0)
            score[i] = -INFINITY;
    }
}

static void make_proposals(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct random random = random_stream(3, 0, 4);
    make_ranked_boxes(g, inputs);
    inputs[PROPOSALS_KEEP] = make_list(g, DTYPE_I32, 0);
    int32_t *keep = op_graph_values(g, inputs[PROPOSALS_KEEP]);
    for (int i = 0; i < PICTURES * candidates(g); i++) /* the last picture keeps few */
        keep[i] = manner_of(g) != EMPTY &&
                  random_below(&random, i / candidates(g) == PICTURES - 1 ? 40 : 2) == 0;
}

/* --- targets ---------------------------------------------------------------------------------- */

/* The first object is an anchor's own box, the second its twin, the third is equally far from
 * several anchors; then a point, two that reach beyond the canvas, one outside and a small one, and
 * two that overlap an anchor between them equally; the rest are random. */
static void put_objects(float (*box)[4], int count, struct random *random) {
    static const float given[][4] = {{16, 16, 48, 48},     {16, 16, 48, 48},   {40, 24, 72, 56},
                                     {50, 10, 50, 10},     {-30, 40, 20, 400}, {-9, -9, 200, 100},
                                     {500, 500, 600, 600}, {60, 2, 66, 9},     {30, 32, 46, 48},
                                     {34, 32, 50, 48}};
    for (int i = 0; i < count; i++) {
        if (i >= 10)
            random_box(random, box[i]);
        for (int k = 0; k < 4 && i < 10; k++)
            box[i][k] = given[i][k];
    }
}

/* Makes pictures with all slots full, with one object, and with none; counts beyond the slots are
 * cut off. */
static void make_targets(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    struct random random = random_stream(3, 0, 5);
    int slots = g->row->attr.detect.objects;
    inputs[RPN_TARGETS_GT_BOX] =
        op_graph_input(g, DTYPE_F32, shape_3(PICTURES, slots, 4), FILL_GIVEN);
    inputs[RPN_TARGETS_GT_COUNT] = op_graph_input(g, DTYPE_I32, shape_1(PICTURES), FILL_GIVEN);
    inputs[RPN_TARGETS_IMAGE_SIZE] = make_sizes(g);
    inputs[RPN_TARGETS_KEY] =
        op_graph_input(g, DTYPE_I32, shape_2(PICTURES, SAMPLE_KEY_WORDS), FILL_GIVEN);
    float(*box)[4] = op_graph_values(g, inputs[RPN_TARGETS_GT_BOX]);
    int32_t *count = op_graph_values(g, inputs[RPN_TARGETS_GT_COUNT]);
    int32_t *key = op_graph_values(g, inputs[RPN_TARGETS_KEY]);
    for (int n = 0; n < PICTURES; n++) {
        put_objects(box + n * slots, slots, &random);
        key[n * SAMPLE_KEY_WORDS + SAMPLE_KEY_SAMPLE] = n;
        key[n * SAMPLE_KEY_WORDS + SAMPLE_KEY_SEED_LOW] = 17;
    }
    count[0] = slots + 5;
    count[1] = 1;
    count[2] = -1;
    if (manner_of(g) == EMPTY) { /* absent pictures have objects, too */
        take_pictures_away(g, inputs[RPN_TARGETS_IMAGE_SIZE]);
        for (int n = 0; n < PICTURES; n++)
            count[n] = slots;
    }
}

/* --- loss ------------------------------------------------------------------------------------- */

/* Samples walk through all levels, each anchor once; the last picture has empty slots, and with
 * EMPTY all slots are empty. */
static void make_loss(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    const struct detect_attr *attr = &g->row->attr.detect;
    const struct anchor_grid grid = detect_grid(attr);
    struct random random = random_stream(3, 0, 6);
    struct shape list = shape_2(PICTURES, attr->samples);
    make_levels(g, inputs, RPN_LOSS_LOGITS, ANCHOR_SHAPES, &random);
    make_levels(g, inputs, RPN_LOSS_DELTAS, 4 * ANCHOR_SHAPES, &random);
    inputs[RPN_LOSS_INDEX] = op_graph_input(g, DTYPE_I32, list, FILL_GIVEN);
    inputs[RPN_LOSS_LABEL] = op_graph_input(g, DTYPE_I32, list, FILL_GIVEN);
    inputs[RPN_LOSS_TARGET] =
        op_graph_input(g, DTYPE_F32, shape_3(PICTURES, attr->samples, 4), FILL_GIVEN);
    int32_t *index = op_graph_values(g, inputs[RPN_LOSS_INDEX]);
    int32_t *label = op_graph_values(g, inputs[RPN_LOSS_LABEL]);
    float *target = op_graph_values(g, inputs[RPN_LOSS_TARGET]);
    for (int i = 0; i < PICTURES * attr->samples; i++) {
        int slot = i % attr->samples, picture = i / attr->samples;
        const struct anchor_level *level = &grid.level[slot % grid.levels];
        int own = slot / grid.levels + picture;
        bool empty = manner_of(g) == EMPTY || (picture == PICTURES - 1 && slot > 11) ||
                     own >= anchor_level_count(level);
        index[i] = empty ? -1 : level->first + own;
        label[i] = empty ? -1 : slot < attr->positives;
        for (int k = 0; k < 4 && label[i] == 1; k++)
            target[i * 4 + k] = (float)random_normal(&random) * 0.3F;
    }
}

/* Makes one level's inputs: samples as for the loss, several of them anchors of one pixel or of
 * neighbours. */
static void make_head(struct op_graph *g, int inputs[OP_INPUTS_MAX]) {
    enum { IN = 5, OUT = 7 };
    const struct anchor_grid grid = detect_grid(&g->row->attr.detect);
    const struct anchor_level *level = &grid.level[g->row->attr.detect.level];
    int all[OP_INPUTS_MAX];
    enum dtype dtype = g->graph.dtype, wide = dtype_wide(dtype);
    make_loss(g, all);
    inputs[RPN_HEAD_GRAD_LOGITS] = all[RPN_LOSS_LOGITS + g->row->attr.detect.level];
    inputs[RPN_HEAD_GRAD_DELTAS] = all[RPN_LOSS_DELTAS + g->row->attr.detect.level];
    inputs[RPN_HEAD_GRAD_INDEX] = all[RPN_LOSS_INDEX];
    inputs[RPN_HEAD_GRAD_LABEL] = all[RPN_LOSS_LABEL];
    inputs[RPN_HEAD_GRAD_TARGET] = all[RPN_LOSS_TARGET];
    inputs[RPN_HEAD_GRAD_X] =
        op_graph_input(g, dtype, shape_4(PICTURES, level->height, level->width, IN), FILL_NORMAL);
    inputs[RPN_HEAD_GRAD_T] =
        op_graph_input(g, dtype, shape_4(PICTURES, level->height, level->width, OUT), FILL_NORMAL);
    inputs[RPN_HEAD_GRAD_W_CONV] = op_graph_input(g, wide, shape_4(OUT, 3, 3, IN), FILL_WEIGHT);
    inputs[RPN_HEAD_GRAD_W_CLS] = op_graph_input(g, wide, shape_2(ANCHOR_SHAPES, OUT), FILL_WEIGHT);
    inputs[RPN_HEAD_GRAD_W_BOX] =
        op_graph_input(g, wide, shape_2(4 * ANCHOR_SHAPES, OUT), FILL_WEIGHT);
}

static const struct op_case rows[] = {
    {"top k", OP_RPN_TOP_K, MADE(make_top_k, PLAIN), CHOOSE(100, 80, 0.7F), EXACT},
    {"top k with ties", OP_RPN_TOP_K, MADE(make_top_k, TIES), CHOOSE(100, 80, 0.7F), EXACT},
    {"top k of equals", OP_RPN_TOP_K, MADE(make_top_k, EQUAL), CHOOSE(100, 80, 0.7F), EXACT},
    {"top k not finite", OP_RPN_TOP_K, MADE(make_top_k, NOT_FINITE), CHOOSE(100, 80, 0.7F), EXACT},
    {"top k of fewer", OP_RPN_TOP_K, MADE(make_top_k, PLAIN), CHOOSE(2000, 80, 0.7F), EXACT},
    {"top 1", OP_RPN_TOP_K, MADE(make_top_k, TIES), CHOOSE(1, 80, 0.7F), EXACT},
    {"top k of two levels", OP_RPN_TOP_K, MADE(make_top_k, PLAIN), TWO_LEVELS(.pre_nms = 100),
     EXACT},

    {"rpn boxes", OP_RPN_BOXES, MADE(make_boxes, PLAIN), CHOOSE(100, 80, 0.7F), EXACT},
    {"rpn boxes not finite", OP_RPN_BOXES, MADE(make_boxes, NOT_FINITE), CHOOSE(100, 80, 0.7F),
     EXACT},
    {"rpn boxes of no pictures", OP_RPN_BOXES, MADE(make_boxes, EMPTY), CHOOSE(100, 80, 0.7F),
     EXACT},
    {"rpn boxes of ties", OP_RPN_BOXES, MADE(make_boxes, TIES), CHOOSE(100, 80, 0.7F), EXACT},

    {"nms", OP_NMS, MADE(make_ranked_boxes, PLAIN), CHOOSE(100, 80, 0.7F), EXACT},
    {"nms with ties", OP_NMS, MADE(make_ranked_boxes, TIES), CHOOSE(100, 80, 0.3F), EXACT},
    {"nms of equals", OP_NMS, MADE(make_ranked_boxes, EQUAL), CHOOSE(100, 80, 0), EXACT},
    {"nms not finite", OP_NMS, MADE(make_ranked_boxes, NOT_FINITE), CHOOSE(100, 80, 0.7F), EXACT},
    {"nms of nothing", OP_NMS, MADE(make_ranked_boxes, EMPTY), CHOOSE(100, 80, 0.7F), EXACT},
    {"nms of many", OP_NMS, MADE(make_ranked_boxes, PLAIN), CHOOSE(400, 80, 0.7F), EXACT},

    {"proposals", OP_PROPOSALS, MADE(make_proposals, PLAIN), CHOOSE(100, 80, 0.7F), EXACT},
    {"proposals with ties", OP_PROPOSALS, MADE(make_proposals, TIES), CHOOSE(100, 80, 0.7F), EXACT},
    {"proposals of nothing", OP_PROPOSALS, MADE(make_proposals, EMPTY), CHOOSE(100, 80, 0.7F),
     EXACT},
    {"one proposal", OP_PROPOSALS, MADE(make_proposals, PLAIN), CHOOSE(100, 1, 0.7F), EXACT},

    {"rpn targets", OP_RPN_TARGETS, MADE(make_targets, PLAIN),
     DETECT(TEACH(.samples = 64, .positives = 16, .objects = 12)), EXACT},
    {"rpn targets of 128 objects", OP_RPN_TARGETS, MADE(make_targets, PLAIN),
     DETECT(TEACH(.samples = 256, .positives = 128, .objects = 128)), EXACT},
    {"rpn targets, more than there are anchors", OP_RPN_TARGETS, MADE(make_targets, PLAIN),
     SMALL(TEACH(.samples = 300, .positives = 300, .objects = 3)), EXACT},
    {"rpn targets of no pictures", OP_RPN_TARGETS, MADE(make_targets, EMPTY),
     DETECT(TEACH(.samples = 64, .positives = 32, .objects = 4)), EXACT},

    {"rpn loss tiny", OP_RPN_LOSS, MADE(make_loss, PLAIN),
     SMALL(TEACH(.samples = 20, .positives = 10)), .losses = 2, .differentiate = true},
    {"rpn loss", OP_RPN_LOSS, MADE(make_loss, PLAIN), DETECT(TEACH(.samples = 64, .positives = 20)),
     .losses = 2},
    {"rpn loss not finite", OP_RPN_LOSS, MADE(make_loss, NOT_FINITE),
     DETECT(TEACH(.samples = 64, .positives = 20)), .losses = 2},
    {"rpn loss of nothing", OP_RPN_LOSS, MADE(make_loss, EMPTY),
     DETECT(TEACH(.samples = 16, .positives = 4)), .losses = 2},
    {"rpn head", OP_RPN_HEAD_GRAD, MADE(make_head, PLAIN),
     DETECT(TEACH(.samples = 64, .positives = 20, .level = 1))},
    {"rpn head, the finest level", OP_RPN_HEAD_GRAD, MADE(make_head, PLAIN),
     DETECT(TEACH(.samples = 128, .positives = 64))},
    {"rpn head of one pixel", OP_RPN_HEAD_GRAD, MADE(make_head, PLAIN),
     SMALL(TEACH(.samples = 40, .positives = 20, .level = 4))},
    {"rpn head of nothing", OP_RPN_HEAD_GRAD, MADE(make_head, EMPTY),
     DETECT(TEACH(.samples = 16, .positives = 4, .level = 2))},

    {"rpn boxes of whole pixels, above a side, by logit", OP_RPN_BOXES, MADE(make_boxes, PLAIN),
     PRESET(.pre_nms = 100, .flags = DETECT_PLUS_ONE | DETECT_SIDE_ABOVE | DETECT_ORDER_BY_LOGIT),
     EXACT},
    {"nms of whole pixels", OP_NMS, MADE(make_ranked_boxes, TIES),
     PRESET(.pre_nms = 100, .nms_threshold = 0.5F, .flags = DETECT_PLUS_ONE), EXACT},
    {"rpn targets of anchors inside, in whole pixels", OP_RPN_TARGETS, MADE(make_targets, PLAIN),
     PRESET(.pre_nms = 1, .samples = 64, .positives = 32, .objects = 12,
            .flags = DETECT_PLUS_ONE | DETECT_ANCHORS_INSIDE),
     EXACT},
    {"rpn loss of absolute differences over all slots", OP_RPN_LOSS, MADE(make_loss, PLAIN),
     PRESET(.pre_nms = 1, .samples = 64, .positives = 20, .flags = DETECT_RPN_FIXED_COUNT),
     .losses = 2},
    {"rpn head over all slots", OP_RPN_HEAD_GRAD, MADE(make_head, PLAIN),
     PRESET(.pre_nms = 1, .samples = 64, .positives = 20, .level = 1,
            .flags = DETECT_RPN_FIXED_COUNT)},
    {"proposals of the whole batch", OP_PROPOSALS, MADE(make_proposals, PLAIN),
     PRESET(.pre_nms = 100, .post_nms = 60, .flags = DETECT_TOP_OF_BATCH), EXACT},
    {"proposals of the whole batch, fewer than wanted", OP_PROPOSALS, MADE(make_proposals, TIES),
     PRESET(.pre_nms = 20, .post_nms = 60, .flags = DETECT_TOP_OF_BATCH), EXACT},
};

const struct op_case_list op_cases_rpn = {rows, sizeof(rows) / sizeof(rows[0])};
