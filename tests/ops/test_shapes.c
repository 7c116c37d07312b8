/* What the operators' rules take, over the whole table: each input of each operator is changed in
 * one way at a time, and refused where kernels would read it otherwise than it is. */
#include "tests/ops/harness.h"
#include "tests/support/unit.h"
#include "trainer/graph/op_detect.h"
#include "trainer/graph/op_roi.h"
#include "trainer/graph/op_rpn.h"
#include "trainer/graph/rules/op_table.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What the operators leave open: axes that may have any size (bit a: axis a), as outputs follow
 * them or nobody counts them; a shape of any rank; an input that may be left out. */
enum { N = 1, H = 2, W = 4, C = 8, RANK = 256, NONE = 512 };
static const struct freedom {
    enum op_kind kind;
    int slot, what;
} freedoms[] = {
    {OP_IMAGE_NORMALIZE, 0, N | H | W},
    {OP_CONV2D, 0, N | H | W | C},
    {OP_CONV2D, 1, N | C}, /* filters; and inputs, where the picture has more channels */
    {OP_CONV2D_GRAD_DATA, 1, C},
    {OP_CONV2D_GRAD_WEIGHT, 1, H | W | C}, /* as far as a stride steps over them; padding */
    {OP_BIAS, 0, N | H | W},
    {OP_BIAS_GRAD, 0, N | H | W | C | RANK},
    {OP_DROPOUT, 0, H | W | C | RANK},
    {OP_CONCAT, 0, N | H | W | C}, /* the only one; else, and the others, channels alone */
    {OP_CONCAT, 1, H | C | NONE},
    {OP_CONCAT, 2, C | NONE},
    {OP_CONCAT, 3, C | NONE},
    {OP_CONCAT, 4, C},
    {OP_CONCAT, 5, C | NONE},
    {OP_CHANNELS, 0, H | C},
    {OP_UPSAMPLE_GRAD, 0, N | H | W | C}, /* even sides */
    {OP_MAX_POOL, 0, N | H | W | C},
    {OP_AVG_POOL, 0, N | H | W | C},
    {OP_GLOBAL_AVG_POOL, 0, N | H | W | C},
    {OP_LINEAR, 0, N | H | W | C | RANK}, /* as long as rows are whole */
    {OP_LINEAR, 1, H | W | C | RANK},
    {OP_LINEAR_GRAD_DATA, 1, RANK},
    {OP_LINEAR_GRAD_WEIGHT, 1, RANK},
    {OP_SOFTMAX_CROSS_ENTROPY, 0, H}, /* classes */
    {OP_SOFTMAX_CROSS_ENTROPY_GRAD, 0, H},
    {OP_BATCH_NORM, NORM_X, N | H | W},
    {OP_BATCH_NORM_INFERENCE, NORM_X, N | H | W},
    {OP_BATCH_NORM_GRAD, NORM_GRAD_DY2, NONE},
    {OP_BATCH_NORM_GRAD, NORM_GRAD_X, H | W}, /* after a pool, by less than a stride */
    {OP_FROZEN_NORM_GRAD, FROZEN_GRAD_DY, N | H | W},
    {OP_FROZEN_NORM_GRAD, FROZEN_GRAD_Y, NONE},
    {OP_CONV2D_AFFINE, AFFINE_X, N | H | W | C},
    {OP_CONV2D_AFFINE, AFFINE_SIDE, NONE},
    {OP_CONV2D_GRAD_DATA_AFFINE, AFFINE_GRAD_Y, NONE},
    {OP_CONV2D_GRAD_DATA_AFFINE, AFFINE_GRAD_SHORTCUT, NONE},
    {OP_CONV2D_GRAD_WEIGHT_AFFINE, 1, H | W | C},
    {OP_CONV2D_STATS, FUSED_CONV_X, N | H | W | C},
    {OP_CONV2D_STATS, FUSED_CONV_W, N},
    {OP_NORM_CONV2D_STATS, FUSED_CONV_X, N | H | W},
    {OP_NORM_CONV2D_STATS, FUSED_CONV_W, N},
    {OP_JOIN_CONV2D_STATS, FUSED_CONV_W, N},
    {OP_DUAL_JOIN_CONV2D_STATS, FUSED_CONV_W, N},
    {OP_NORM_APPLY_RELU, FUSED_CONV_X, N | H | W},
    {OP_NORM_CONV2D_GRAD_WEIGHT, 1, H | W},
    /* From here on the letters are the first axis, the second, and so on. */
    {OP_IMAGE_RESIZE, IMAGE_RESIZE_IMAGE, H}, /* bytes */
    {OP_RPN_TARGETS, RPN_TARGETS_GT_BOX, H},  /* slots for objects */
    {OP_ROI_TARGETS, ROI_TARGETS_BOX, H},     /* proposals */
    {OP_ROI_ALIGN, ROI_ALIGN_ROI, H},         /* regions */
    {OP_ROI_ALIGN, ROI_ALIGN_LABEL, NONE},
    {OP_ROI_ALIGN, ROI_ALIGN_ROW, N | NONE},
    {OP_ROI_ALIGN_GRAD, ROI_ALIGN_GRAD_DY, C},
    {OP_ROI_ALIGN_GRAD, ROI_ALIGN_GRAD_ROI, N | H}, /* where rows name them */
    {OP_ROI_ALIGN_GRAD, ROI_ALIGN_GRAD_LABEL, NONE},
    {OP_ROI_ALIGN_GRAD, ROI_ALIGN_GRAD_BEFORE, NONE},
    {OP_ROI_ALIGN_GRAD, ROI_ALIGN_GRAD_BEFORE + 1, NONE},
    {OP_ROI_ALIGN_GRAD, ROI_ALIGN_GRAD_BEFORE + 2, NONE},
    {OP_ROI_ALIGN_GRAD, ROI_ALIGN_GRAD_BEFORE + 3, NONE},
    {OP_MASK_ROWS, MASK_ROWS_AT, H}, /* slots for objects */
    {OP_MASK_TARGETS, MASK_TARGETS_ROW, N},
    {OP_MASK_TARGETS, MASK_TARGETS_AT, H},
    {OP_MASK_TARGETS, MASK_TARGETS_BITS, N},
    {OP_MASK_TARGETS, MASK_TARGETS_PART, N},
    {OP_MASK_TARGETS, MASK_TARGETS_POINT, N},
    {OP_CLASS_CONV, CLASS_CONV_X, H | W},
    {OP_CLASS_CONV, CLASS_CONV_LABEL, RANK},
    {OP_CLASS_CONV_GRAD_DATA, CLASS_CONV_GRAD_DATA_W, N}, /* classes */
    {OP_CLASS_CONV_GRAD_DATA, CLASS_CONV_GRAD_DATA_LABEL, RANK},
    {OP_CLASS_CONV_GRAD_WEIGHT, CLASS_CONV_GRAD_WEIGHT_LABEL, RANK},
    {OP_TOTAL_LOSS, TOTAL_LOSS_SIZE, N},
};

static int taken[OP_KINDS][OP_INPUTS_MAX]; /* what was taken once, as in `what` */

/* Functions of math/pointwise.h take a tensor of any shape, without a line above. */
static int freedom_of(enum op_kind kind, int slot) {
    if (op_pointwise(kind) != POINTWISE_KINDS && op_rule(kind)->inputs == 1)
        return N | H | W | C | RANK;
    for (size_t i = 0; i < sizeof(freedoms) / sizeof(freedoms[0]); i++)
        if (freedoms[i].kind == kind && freedoms[i].slot == slot)
            return freedoms[i].what;
    return 0;
}

/* Whether the rule takes the operator as it is. What it makes of it goes away again. */
static bool is_taken(struct graph *graph, const struct op *op) {
    struct op copy = *op;
    struct error err = {0};
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        copy.outputs[i] = TENSOR_NONE;
    const int tensors = graph->tensor_count;
    int done = op_rule(op->kind)->shape(graph, &copy, &err);
    bool good = done == 0;
    graph->tensor_count = tensors;
    CU_ASSERT(good || done == -1);
    CU_ASSERT(!good || copy.outputs[0] != TENSOR_NONE);
    for (int i = op_rule(op->kind)->outputs; i < OP_OUTPUTS_MAX; i++)
        CU_ASSERT_EQUAL(copy.outputs[i], TENSOR_NONE);
    CU_ASSERT(good || err.code == EXIT_CODE_INTERNAL || err.code == EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(good, err.text[0] == '\0');
    return good;
}

static const char *change_name(int what) {
    switch (what) {
    case N:
        return "axis 0 (N)";
    case H:
        return "axis 1 (H)";
    case W:
        return "axis 2 (W)";
    case C:
        return "axis 3 (C)";
    case RANK:
        return "its rank (RANK)";
    case NONE:
        return "its presence (NONE)";
    default:
        return "its type";
    }
}

/* WHAT of input SLOT is changed: that is refused, or one of the freedoms. */
static void expect(struct graph *graph, const struct op *op, int slot, int what) {
    if (!is_taken(graph, op))
        return;
    taken[op->kind][slot] |= what;
    if ((freedom_of(op->kind, slot) & what) != 0)
        return;
    printf("%s: its shape rule accepts input %d with %s changed; refuse that in "
           "graph/rules/shape_*.c, "
           "or, where kernels may read it so, add it to `freedoms` in tests/ops/test_shapes.c\n",
           op_name(op->kind), slot, change_name(what));
    CU_FAIL("an input that no rule checks");
}

static void change_input(struct graph *graph, const struct op *op, int slot) {
    static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_I32, DTYPE_U8};
    struct tensor *tensor = &graph->tensors[op->inputs[slot]];
    const struct tensor own = *tensor;
    struct op without = *op;
    without.inputs[slot] = TENSOR_NONE;
    expect(graph, &without, slot, NONE);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        graph->tensors[op->inputs[slot]].dtype = types[i];
        if (types[i] != own.dtype)
            expect(graph, op, slot, 0);
    }
    graph->tensors[op->inputs[slot]] = own;
    for (int axis = 0; axis <= own.shape.rank && axis < SHAPE_RANK_MAX; axis++) {
        struct shape *shape = &graph->tensors[op->inputs[slot]].shape;
        if (axis < own.shape.rank)
            shape->dim[axis]++;
        else
            shape->dim[shape->rank++] = 1;
        expect(graph, op, slot, axis < own.shape.rank ? 1 << axis : RANK);
        graph->tensors[op->inputs[slot]] = own;
        if (axis == own.shape.rank)
            break;
        shape->dim[axis] *= 2; /* twice the pictures, say */
        expect(graph, op, slot, 1 << axis);
        graph->tensors[op->inputs[slot]] = own;
    }
}

static void an_input_is_as_the_operator_reads_it(void) {
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        op_graph_describe(&g, op_case_at(i), DTYPE_BF16);
        for (int number = 0; number < g.graph.op_count; number++) {
            const struct op op = g.graph.ops[number];
            CU_ASSERT(is_taken(&g.graph, &op));
            for (int slot = 0; slot < OP_INPUTS_MAX; slot++)
                if (op.inputs[slot] != TENSOR_NONE)
                    change_input(&g.graph, &op, slot);
        }
        op_graph_done(&g);
    }
    for (size_t i = 0; i < sizeof(freedoms) / sizeof(freedoms[0]); i++) {
        const struct freedom *f = &freedoms[i];
        if ((taken[f->kind][f->slot] & f->what) != f->what)
            printf("%s refuses input %d: %d\n", op_name(f->kind), f->slot, f->what);
        CU_ASSERT_EQUAL(taken[f->kind][f->slot] & f->what, f->what);
    }
}

/* Each level's deltas of twice the pictures: they agree with each other. */
static void logits_and_deltas_are_of_the_same_pictures(void) {
    int tried = 0;
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        if (op_case_at(i)->kind != OP_RPN_LOSS)
            continue;
        op_graph_describe(&g, op_case_at(i), DTYPE_BF16);
        const struct op op = g.graph.ops[0];
        for (int level = 0; level < op.attr.detect.levels; level++)
            g.graph.tensors[op.inputs[RPN_LOSS_DELTAS + level]].shape.dim[0] *= 2;
        CU_ASSERT_FALSE(is_taken(&g.graph, &op));
        tried++;
        op_graph_done(&g);
    }
    CU_ASSERT(tried > 0);
}

static void a_second_norm_alone_has_second_gradients(void) {
    int tried[2] = {0};
    for (int i = 0; i < op_case_count(); i++) {
        enum op_kind kind = op_case_at(i)->kind;
        struct op_graph g;
        if (kind < OP_CONV2D_GRAD_DATA_NORM || kind > OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN)
            continue;
        op_graph_describe(&g, op_case_at(i), DTYPE_BF16);
        bool dual = kind == OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN;
        for (int slot = GRAD_DATA_NORM_G; slot < GRAD_DATA_NORM_OUTPUTS; slot++)
            CU_ASSERT_EQUAL(g.graph.ops[0].outputs[slot] != TENSOR_NONE,
                            dual || slot < GRAD_DATA_NORM_DGAMMA2);
        tried[dual]++;
        op_graph_done(&g);
    }
    CU_ASSERT(tried[0] > 0 && tried[1] > 0);
}

/* Outlines are three inputs, of which none is without the others. */
static void an_outline_is_whole(void) {
    static const int outline[] = {MASK_TARGETS_PARTS, MASK_TARGETS_PART, MASK_TARGETS_POINT};
    int tried = 0;
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        if (op_case_at(i)->kind != OP_MASK_TARGETS)
            continue;
        op_graph_describe(&g, op_case_at(i), DTYPE_BF16);
        struct op without = g.graph.ops[0];
        for (int k = 0; k < 3; k++)
            without.inputs[outline[k]] = TENSOR_NONE;
        CU_ASSERT(is_taken(&g.graph, &without));
        for (int k = 0; k < 3; k++) {
            struct op one = without;
            one.inputs[outline[k]] = g.graph.ops[0].inputs[outline[k]];
            if (one.inputs[outline[k]] == TENSOR_NONE)
                continue;
            CU_ASSERT_FALSE(is_taken(&g.graph, &one));
            tried++;
        }
        op_graph_done(&g);
    }
    CU_ASSERT(tried >= 3);
}

/* What a refusal says of anchors and levels. */
static void an_error_tells_what_does_not_fit(void) {
    int tried = 0;
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        struct error err = {0};
        char text[128];
        if (op_case_at(i)->kind != OP_RPN_TOP_K || op_case_at(i)->attr.detect.levels < 2)
            continue;
        op_graph_describe(&g, op_case_at(i), DTYPE_BF16);
        struct op op = g.graph.ops[0];
        struct detect_attr *attr = &op.attr.detect;
        attr->levels--;
        CU_ASSERT_EQUAL(op_rule(op.kind)->shape(&g.graph, &op, &err), -1);
        (void)snprintf(text, sizeof(text), "input %d has no level", attr->levels);
        ASSERT_CONTAINS(err.text, text);
        attr->levels = 0;
        CU_ASSERT_EQUAL(op_rule(op.kind)->shape(&g.graph, &op, &err), -1);
        (void)snprintf(text, sizeof(text),
                       "no anchors: 0 levels on a canvas of %d x %d, %d candidates each",
                       attr->canvas_h, attr->canvas_w, attr->pre_nms);
        ASSERT_CONTAINS(err.text, text);
        tried++;
        op_graph_done(&g);
    }
    CU_ASSERT(tried > 0);
}

static void each_place_for_an_object_has_a_row_of_masks(void) {
    int tried = 0;
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        const struct op_case *row = op_case_at(i);
        if (row->kind != OP_MASK_ROWS)
            continue;
        op_graph_describe(&g, row, DTYPE_BF16);
        const struct op *op = &g.graph.ops[0];
        int64_t pictures = g.graph.tensors[op->inputs[MASK_ROWS_LABEL]].shape.dim[0];
        int64_t rows = pictures * row->attr.detect.positives;
        CU_ASSERT_TRUE(pictures > 1);
        CU_ASSERT_EQUAL(shape_count(&g.graph.tensors[op->outputs[MASK_ROWS_ROW]].shape), rows);
        CU_ASSERT_EQUAL(shape_count(&g.graph.tensors[op->outputs[MASK_ROWS_MASK_LABEL]].shape),
                        rows);
        tried++;
        op_graph_done(&g);
    }
    CU_ASSERT(tried > 0);
}

#define WRONG(kind, field, value)                                                                  \
    { OP_##kind, offsetof(struct op_attr, field), value }
enum { MANY = 1000000 };

static void attributes_that_make_no_sense_are_refused(void) {
    static const struct {
        enum op_kind kind;
        size_t at; /* an int of struct op_attr */
        int value;
    } rows[] = {
        WRONG(IMAGE_NORMALIZE, channels, 2),
        WRONG(CONV2D, window.kernel, 0),
        WRONG(CONV2D, window.stride, 0),
        WRONG(CONV2D, window.pad, -1),
        WRONG(CONV2D, window.pad, MANY),
        WRONG(CONV2D, window.groups, -1),
        WRONG(CONV2D, window.groups, MANY),
        WRONG(CONV2D, window.across.kernel, -1),
        WRONG(CONV2D, window.across.kernel, MANY),
        WRONG(CONV2D_GRAD_DATA, window.kernel, 0),
        WRONG(CONV2D_GRAD_DATA, window.groups, MANY),
        WRONG(CONV2D_GRAD_WEIGHT, window.groups, MANY),
        WRONG(CONV2D_GRAD_DATA, window.stride, 0),
        WRONG(BATCH_NORM, form, NORM_FORMS),
        WRONG(BATCH_NORM_GRAD, form, -1),
        WRONG(BATCH_NORM_INFERENCE, form, NORM_RELU_MAX_POOL),
        WRONG(MAX_POOL, window.kernel, 0),
        WRONG(MAX_POOL, window.kernel, MANY),
        WRONG(MAX_POOL, window.stride, 0),
        WRONG(MAX_POOL, window.pad, -1),
        WRONG(MAX_POOL, window.groups, 2),
        WRONG(MAX_POOL, window.across.kernel, 7),
        WRONG(MAX_POOL_GRAD, window.groups, 2),
        WRONG(CHANNELS, channel, -1),
        WRONG(CHANNELS, channel, MANY),
        WRONG(AVG_POOL, window.kernel, 0),
        WRONG(AVG_POOL, window.stride, 0),
        WRONG(AVG_POOL, window.pad, -1),
        WRONG(AVG_POOL, window.across.kernel, 7),
        WRONG(AVG_POOL_GRAD, window.kernel, 0),
        WRONG(RPN_TOP_K, detect.levels, 0),
        WRONG(RPN_TOP_K, detect.levels, DETECT_LEVELS_MAX + 1),
        WRONG(RPN_TOP_K, detect.canvas_h, 0),
        WRONG(RPN_TOP_K, detect.canvas_w, 0),
        WRONG(RPN_TOP_K, detect.pre_nms, 0),
        WRONG(RPN_BOXES, detect.levels, 0),
        WRONG(NMS, detect.pre_nms, 0),
        WRONG(PROPOSALS, detect.pre_nms, 0),
        WRONG(PROPOSALS, detect.post_nms, 0),
        WRONG(RPN_TARGETS, detect.levels, 0),
        WRONG(RPN_TARGETS, detect.samples, 0),
        WRONG(RPN_TARGETS, detect.positives, -1),
        WRONG(RPN_TARGETS, detect.positives, MANY),
        WRONG(RPN_LOSS, detect.canvas_h, 0),
        WRONG(RPN_LOSS_GRAD, detect.canvas_h, 0),
        WRONG(RPN_LOSS_GRAD, detect.level, -1),
        WRONG(RPN_LOSS_GRAD, detect.level, DETECT_LEVELS_MAX),
        WRONG(IMAGE_RESIZE, detect.canvas_h, 0),
        WRONG(IMAGE_RESIZE, detect.canvas_w, 0),
        WRONG(IMAGE_RESIZE, channels, 2),
        WRONG(ROI_TARGETS, detect.samples, 0),
        WRONG(ROI_TARGETS, detect.positives, 0),
        WRONG(ROI_TARGETS, detect.positives, MANY),
        WRONG(ROI_ALIGN, detect.levels, 0),
        WRONG(ROI_ALIGN, detect.levels, ROI_LEVELS_MAX + 1),
        WRONG(ROI_ALIGN, detect.pooled, 0),
        WRONG(ROI_ALIGN, detect.sampling, -1),
        WRONG(ROI_ALIGN, detect.canvas_h, 0),
        WRONG(ROI_ALIGN, detect.canvas_w, 0),
        WRONG(ROI_ALIGN_GRAD, detect.pooled, 0),
        WRONG(BOX_LOSS, detect.classes, 0),
        WRONG(BOX_LOSS_GRAD, detect.classes, 0),
        WRONG(DETECTIONS, detect.classes, 0),
        WRONG(DETECTIONS, detect.detections, 0),
        WRONG(DETECTIONS, detect.detections, INT_MAX), /* more boxes than a tensor holds */
        WRONG(MASK_ROWS, detect.positives, 0),
        WRONG(MASK_ROWS, detect.positives, MANY),
        WRONG(MASK_TARGETS, detect.pooled, 0),
    };
    int tried[sizeof(rows) / sizeof(rows[0])] = {0};
    for (int i = 0; i < op_case_count(); i++) {
        struct op_graph g;
        op_graph_describe(&g, op_case_at(i), DTYPE_BF16);
        for (int number = 0; number < g.graph.op_count; number++)
            for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
                struct op op = g.graph.ops[number];
                if (op.kind != rows[k].kind)
                    continue;
                memcpy((char *)&op.attr + rows[k].at, &rows[k].value, sizeof(int));
                bool refused = !is_taken(&g.graph, &op);
                if (!refused)
                    printf("%s takes %d at %zu\n", op_name(op.kind), rows[k].value, rows[k].at);
                CU_ASSERT(refused);
                tried[k]++;
            }
        op_graph_done(&g);
    }
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
        CU_ASSERT(tried[k] > 0);
}

UNIT_SUITE("ops.shapes", UNIT(attributes_that_make_no_sense_are_refused),
           UNIT(logits_and_deltas_are_of_the_same_pictures), UNIT(an_outline_is_whole),
           UNIT(a_second_norm_alone_has_second_gradients), UNIT(an_error_tells_what_does_not_fit),
           UNIT(an_input_is_as_the_operator_reads_it),
           UNIT(each_place_for_an_object_has_a_row_of_masks))
