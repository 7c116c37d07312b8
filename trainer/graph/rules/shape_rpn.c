#include "trainer/graph/detect_grid.h"
#include "trainer/graph/op_rpn.h"
#include "trainer/graph/rules/rules.h"
#include "trainer/math/image_size.h"
#include "trainer/math/sample_key.h"

/* Shape rules of the operators around a region proposal network (op_rpn.h has slots and the letters
 * of dimensions).
 *
 * Forward operators read all levels of the pyramid at once, a tensor per level; gradients are one
 * operator per level. What a level's tensor must look like follows from the canvas alone
 * (detect_grid.h), so the number of pictures is the only unknown. It is computed from level 0, and
 * all other inputs must agree.
 *
 * Candidates of all levels lie one level after the other. Their number for a picture depends on
 * attributes only, so that a GPU never has to tell the host how many there are. */

/* Checks what all operators here depend on. The canvas must be set before the grid is computed. */
static int check_attr(const struct detect_attr *attr, struct error *err) {
    bool levels = attr->levels >= 1 && attr->levels <= DETECT_LEVELS_MAX;
    if (!levels || attr->canvas_h < 1 || attr->canvas_w < 1 || attr->pre_nms < 1)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "no anchors: %d levels on a canvas of %d x %d, %d candidates each",
                         attr->levels, attr->canvas_h, attr->canvas_w, attr->pre_nms);
    return 0;
}

/* Fails unless the inputs from SLOT on are one tensor for each level, wide, [N * pixels, COLUMNS],
 * and slots of further levels are empty. Sets *RET_PICTURES to N. A first dimension that is no
 * multiple of the pixels fails by the comparison. */
static int expect_levels(const struct graph *graph, const struct op *op, int slot, int columns,
                         int64_t *ret_pictures, struct error *err) {
    const struct anchor_grid grid = detect_grid(&op->attr.detect);
    for (int i = 0; i < DETECT_LEVELS_MAX; i++) {
        if (i >= grid.levels && op->inputs[slot + i] == TENSOR_NONE)
            continue;
        if (i >= grid.levels)
            return error_set(err, EXIT_CODE_INTERNAL, "input %d has no level", slot + i);
        if (rule_expect_rank(graph, op, slot + i, dtype_wide(graph->dtype), 2, err) != 0)
            return -1;
        int64_t pixels = (int64_t)grid.level[i].height * grid.level[i].width;
        if (i == 0)
            *ret_pictures = rule_input(graph, op, slot)->shape.dim[0] / pixels;
        struct shape shape = shape_2(*ret_pictures * pixels, columns);
        if (rule_expect(graph, op, slot + i, dtype_wide(graph->dtype), &shape, err) != 0)
            return -1;
    }
    return 0;
}

/* Returns T, the candidates of a picture: pre_nms of each level, or all its anchors if it has
 * fewer. */
static int64_t candidates(const struct op *op) {
    const struct detect_candidates places = detect_candidates(&op->attr.detect);
    return places.first[places.levels];
}

/* The logits have one column for each anchor of a pixel. NaN logits, which rank last, are counted
 * for each picture in an output of their own. */
int shape_rpn_top_k(struct graph *graph, struct op *op, struct error *err) {
    int64_t pictures = 0;
    if (check_attr(&op->attr.detect, err) != 0 ||
        expect_levels(graph, op, RPN_TOP_K_LOGITS, ANCHOR_SHAPES, &pictures, err) != 0)
        return -1;
    struct shape shape = shape_2(pictures, candidates(op));
    if (graph_set_output(graph, op, RPN_TOP_K_SCORE, DTYPE_F32, shape, err) != 0 ||
        graph_set_output(graph, op, RPN_TOP_K_INDEX, DTYPE_I32, shape, err) != 0)
        return -1;
    return graph_set_output(graph, op, RPN_TOP_K_NAN, DTYPE_I32, shape_1(pictures), err);
}

/* Four deltas for each anchor. Scores and indices are those of top-k, in the same places; the
 * output ranks anew, as a box may be excluded. */
int shape_rpn_boxes(struct graph *graph, struct op *op, struct error *err) {
    int64_t pictures = 0;
    if (check_attr(&op->attr.detect, err) != 0 ||
        expect_levels(graph, op, RPN_BOXES_DELTAS, 4 * ANCHOR_SHAPES, &pictures, err) != 0)
        return -1;
    struct shape list = shape_2(pictures, candidates(op));
    struct shape sizes = shape_2(pictures, IMAGE_SIZE_FIELDS);
    if (rule_expect(graph, op, RPN_BOXES_SCORE, DTYPE_F32, &list, err) != 0 ||
        rule_expect(graph, op, RPN_BOXES_INDEX, DTYPE_I32, &list, err) != 0 ||
        rule_expect(graph, op, RPN_BOXES_IMAGE_SIZE, DTYPE_I32, &sizes, err) != 0)
        return -1;
    struct shape boxes = shape_3(pictures, candidates(op), 4);
    if (graph_set_output(graph, op, RPN_BOXES_BOX, DTYPE_F32, boxes, err) != 0)
        return -1;
    return graph_set_output(graph, op, RPN_BOXES_RANKED_BY, DTYPE_F32, list, err);
}

/* Fails unless input SLOT has the candidates' boxes and the next one their scores. Sets
 * *RET_PICTURES to N, which their first dimension says. */
static int expect_candidates(const struct graph *graph, const struct op *op, int slot,
                             int64_t *ret_pictures, struct error *err) {
    if (check_attr(&op->attr.detect, err) != 0 ||
        rule_expect_rank(graph, op, slot, DTYPE_F32, 3, err) != 0)
        return -1;
    *ret_pictures = rule_input(graph, op, slot)->shape.dim[0];
    struct shape boxes = shape_3(*ret_pictures, candidates(op), 4);
    struct shape list = shape_2(*ret_pictures, candidates(op));
    if (rule_expect(graph, op, slot, DTYPE_F32, &boxes, err) != 0)
        return -1;
    return rule_expect(graph, op, slot + 1, DTYPE_F32, &list, err);
}

/* A flag for each candidate, in place of a list: the number of kept ones is not known here. Boxes
 * and scores keep their places. */
int shape_nms(struct graph *graph, struct op *op, struct error *err) {
    int64_t pictures;
    if (expect_candidates(graph, op, NMS_BOX, &pictures, err) != 0)
        return -1;
    return graph_set_output(graph, op, NMS_KEEP, DTYPE_I32, shape_2(pictures, candidates(op)), err);
}

/* K slots for each picture. Where the best of a whole batch are taken (DETECT_TOP_OF_BATCH), one
 * picture may get all of them, but no more than it has candidates. */
int shape_proposals(struct graph *graph, struct op *op, struct error *err) {
    const struct detect_attr *attr = &op->attr.detect;
    bool pooled = (attr->flags & DETECT_TOP_OF_BATCH) != 0;
    int64_t pictures, slots = attr->post_nms;
    if (expect_candidates(graph, op, PROPOSALS_FROM_BOX, &pictures, err) != 0)
        return -1;
    struct shape list = shape_2(pictures, candidates(op));
    if (rule_expect(graph, op, PROPOSALS_KEEP, DTYPE_I32, &list, err) != 0)
        return -1;
    if (slots < 1)
        return error_set(err, EXIT_CODE_INTERNAL, "%d proposals", attr->post_nms);
    if (pooled) /* all may belong to one picture */
        slots = candidates(op) < slots * pictures ? candidates(op) : slots * pictures;
    if (graph_set_output(graph, op, PROPOSALS_BOX, DTYPE_F32, shape_3(pictures, slots, 4), err) !=
            0 ||
        graph_set_output(graph, op, PROPOSALS_SCORE, DTYPE_F32, shape_2(pictures, slots), err) != 0)
        return -1;
    return graph_set_output(graph, op, PROPOSALS_COUNT, DTYPE_I32, shape_1(pictures), err);
}

/* S samples of each picture's anchors, by objects, sizes and keys; the anchors themselves are
 * computed, not read. */
int shape_rpn_targets(struct graph *graph, struct op *op, struct error *err) {
    const struct detect_attr *attr = &op->attr.detect;
    if (check_attr(attr, err) != 0 ||
        rule_expect_rank(graph, op, RPN_TARGETS_GT_BOX, DTYPE_F32, 3, err) != 0)
        return -1;
    const struct shape *objects = &rule_input(graph, op, RPN_TARGETS_GT_BOX)->shape;
    int64_t pictures = objects->dim[0], samples = attr->samples;
    struct shape boxes = shape_3(pictures, objects->dim[1], 4), counts = shape_1(pictures);
    struct shape sizes = shape_2(pictures, IMAGE_SIZE_FIELDS);
    struct shape keys = shape_2(pictures, SAMPLE_KEY_WORDS);
    if (rule_expect(graph, op, RPN_TARGETS_GT_BOX, DTYPE_F32, &boxes, err) != 0 ||
        rule_expect(graph, op, RPN_TARGETS_GT_COUNT, DTYPE_I32, &counts, err) != 0 ||
        rule_expect(graph, op, RPN_TARGETS_IMAGE_SIZE, DTYPE_I32, &sizes, err) != 0 ||
        rule_expect(graph, op, RPN_TARGETS_KEY, DTYPE_I32, &keys, err) != 0)
        return -1;
    if (samples < 1 || attr->positives < 0 || attr->positives > samples)
        return error_set(err, EXIT_CODE_INTERNAL, "%d samples, %d of them with an object",
                         attr->samples, attr->positives);
    struct shape list = shape_2(pictures, samples), codes = shape_3(pictures, samples, 4);
    if (graph_set_output(graph, op, RPN_TARGETS_INDEX, DTYPE_I32, list, err) != 0 ||
        graph_set_output(graph, op, RPN_TARGETS_LABEL, DTYPE_I32, list, err) != 0 ||
        graph_set_output(graph, op, RPN_TARGETS_TARGET, DTYPE_F32, codes, err) != 0)
        return -1;
    return graph_set_output(graph, op, RPN_TARGETS_COUNT, DTYPE_I32, shape_2(pictures, 2), err);
}

/* Fails unless inputs SLOT to SLOT + 2 are the samples of that many pictures: index, label,
 * target. */
static int expect_samples(const struct graph *graph, const struct op *op, int slot,
                          int64_t pictures, struct error *err) {
    if (rule_expect_rank(graph, op, slot, DTYPE_I32, 2, err) != 0)
        return -1;
    int64_t samples = rule_input(graph, op, slot)->shape.dim[1];
    struct shape list = shape_2(pictures, samples), codes = shape_3(pictures, samples, 4);
    if (rule_expect(graph, op, slot, DTYPE_I32, &list, err) != 0 ||
        rule_expect(graph, op, slot + 1, DTYPE_I32, &list, err) != 0)
        return -1;
    return rule_expect(graph, op, slot + 2, DTYPE_F32, &codes, err);
}

/* Logits and deltas could come from different batches, and each pass their own check; so the two
 * numbers of pictures are compared. */
int shape_rpn_loss(struct graph *graph, struct op *op, struct error *err) {
    int64_t pictures = 0, again = 0;
    if (check_attr(&op->attr.detect, err) != 0 ||
        expect_levels(graph, op, RPN_LOSS_LOGITS, ANCHOR_SHAPES, &pictures, err) != 0 ||
        expect_levels(graph, op, RPN_LOSS_DELTAS, 4 * ANCHOR_SHAPES, &again, err) != 0 ||
        expect_samples(graph, op, RPN_LOSS_INDEX, pictures, err) != 0)
        return -1;
    if (again != pictures)
        return error_set(err, EXIT_CODE_INTERNAL, "logits and deltas of different pictures");
    return graph_set_output(graph, op, RPN_LOSS_VALUES, dtype_wide(graph->dtype),
                            shape_1(RPN_LOSSES), err);
}

/* Fails unless slots 0 to 4 are the inputs of a level's gradient (both kinds): logits, deltas and
 * samples. Fills the shapes of logits and deltas. attr.level says which level it is; the samples
 * are those of all levels. */
static int expect_level(const struct graph *graph, const struct op *op, struct shape *ret_logits,
                        struct shape *ret_deltas, struct error *err) {
    const struct detect_attr *attr = &op->attr.detect;
    enum dtype wide = dtype_wide(graph->dtype);
    if (check_attr(attr, err) != 0 ||
        rule_expect_rank(graph, op, RPN_LOSS_GRAD_LOGITS, wide, 2, err) != 0)
        return -1;
    if (attr->level < 0 || attr->level >= attr->levels)
        return error_set(err, EXIT_CODE_INTERNAL, "no level %d", attr->level);
    const struct anchor_grid grid = detect_grid(attr);
    int64_t pixels = (int64_t)grid.level[attr->level].height * grid.level[attr->level].width;
    int64_t pictures = rule_input(graph, op, RPN_LOSS_GRAD_LOGITS)->shape.dim[0] / pixels;
    *ret_logits = shape_2(pictures * pixels, ANCHOR_SHAPES);
    *ret_deltas = shape_2(pictures * pixels, (int64_t)4 * ANCHOR_SHAPES);
    if (rule_expect(graph, op, RPN_LOSS_GRAD_LOGITS, wide, ret_logits, err) != 0 ||
        rule_expect(graph, op, RPN_LOSS_GRAD_DELTAS, wide, ret_deltas, err) != 0)
        return -1;
    return expect_samples(graph, op, RPN_LOSS_GRAD_INDEX, pictures, err);
}

/* The gradients of one level, in the activation type, as the head's convolutions read them. */
int shape_rpn_loss_grad(struct graph *graph, struct op *op, struct error *err) {
    struct shape logits = {0}, deltas = {0};
    if (expect_level(graph, op, &logits, &deltas, err) != 0 ||
        graph_set_output(graph, op, RPN_LOSS_GRAD_DLOGITS, graph->dtype, logits, err) != 0)
        return -1;
    return graph_set_output(graph, op, RPN_LOSS_GRAD_DDELTAS, graph->dtype, deltas, err);
}

/* Makes output SLOT, a gradient of weights of this shape, and the next one, of the bias: one value
 * for each row of the weights. */
static int set_weight_outputs(struct graph *graph, struct op *op, int slot, struct shape weights,
                              struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    if (graph_set_output(graph, op, slot, wide, weights, err) != 0)
        return -1;
    return graph_set_output(graph, op, slot + 1, wide, shape_1(weights.dim[0]), err);
}

/* The gradient of a level together with those of the head's three convolutions (op_rpn.h). Sizes
 * follow from the level and from the channels of x and t; all weights must fit them. */
int shape_rpn_head_grad(struct graph *graph, struct op *op, struct error *err) {
    enum dtype wide = dtype_wide(graph->dtype);
    struct shape logits = {0}, deltas = {0};
    if (expect_level(graph, op, &logits, &deltas, err) != 0 ||
        rule_expect_rank(graph, op, RPN_HEAD_GRAD_X, graph->dtype, 4, err) != 0 ||
        rule_expect_rank(graph, op, RPN_HEAD_GRAD_T, graph->dtype, 4, err) != 0)
        return -1;
    const struct anchor_grid grid = detect_grid(&op->attr.detect);
    const struct anchor_level *level = &grid.level[op->attr.detect.level];
    int64_t pictures = logits.dim[0] / level->height / level->width;
    int64_t in = rule_input(graph, op, RPN_HEAD_GRAD_X)->shape.dim[3];
    int64_t out = rule_input(graph, op, RPN_HEAD_GRAD_T)->shape.dim[3];
    struct shape x = shape_4(pictures, level->height, level->width, in);
    struct shape t = shape_4(pictures, level->height, level->width, out);
    struct shape conv = shape_4(out, 3, 3, in);
    struct shape cls = shape_2(ANCHOR_SHAPES, out), box = shape_2((int64_t)4 * ANCHOR_SHAPES, out);
    if (rule_expect(graph, op, RPN_HEAD_GRAD_X, graph->dtype, &x, err) != 0 ||
        rule_expect(graph, op, RPN_HEAD_GRAD_T, graph->dtype, &t, err) != 0 ||
        rule_expect(graph, op, RPN_HEAD_GRAD_W_CONV, wide, &conv, err) != 0 ||
        rule_expect(graph, op, RPN_HEAD_GRAD_W_CLS, wide, &cls, err) != 0 ||
        rule_expect(graph, op, RPN_HEAD_GRAD_W_BOX, wide, &box, err) != 0 ||
        graph_set_output(graph, op, RPN_HEAD_GRAD_DX, graph->dtype, x, err) != 0)
        return -1;
    if (set_weight_outputs(graph, op, RPN_HEAD_GRAD_DW_CONV, conv, err) != 0 ||
        set_weight_outputs(graph, op, RPN_HEAD_GRAD_DW_CLS, cls, err) != 0)
        return -1;
    return set_weight_outputs(graph, op, RPN_HEAD_GRAD_DW_BOX, box, err);
}
