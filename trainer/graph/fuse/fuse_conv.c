/* FUSION_CONV, in four passes over a graph with its backward pass, after FUSION_ALL:
 *
 *     data gradient -> norm gradient     becomes  data gradient with mask and reductions -> apply
 *     conv -> norm + ReLU                becomes  conv with statistics -> finalize -> apply
 *     apply -> conv with statistics      becomes  conv with that prologue
 *     apply -> both gradients of a 1x1   becomes  one operator
 *
 * fuse_affine_grad.c does the same for biases and frozen norms before that.
 *
 * A norm over a batch needs its statistics before it can be applied, so it reads its input twice.
 * The convolution before it has each value in registers and can sum them on the way; the
 * convolution after it can apply the norm while it reads. Neither pass over memory remains.
 *
 * Each rewrite asks the backend about the operators that it would make, one convolution at a time,
 * and leaves the graph unchanged if the backend lacks them. Removed operators have kind OP_KINDS
 * until graph_compact takes them out. */
#include "common/cleanup.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/fuse/fuser.h"
#include "trainer/graph/rules/op_table.h"
#include "trainer/graph/schedule.h"

#include <stdlib.h>
#include <string.h>

/* Returns an operator without tensors. forward is -1: it counts as a forward operator. */
static struct op empty_op(enum op_kind kind, const char *name) {
    struct op op = {.kind = kind, .rows = TENSOR_NONE, .forward = -1};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        op.inputs[i] = TENSOR_NONE;
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        op.outputs[i] = TENSOR_NONE;
    memcpy(op.name, name, sizeof(op.name));
    return op;
}

/* --- statistics in the epilogue --------------------------------------------------------------- */

/* Result of splitting one norm: its convolution with statistics, and the operator that finalizes
 * them. */
struct split {
    int conv;
    struct op with_stats, finalize;
};

/* Checks whether the norm of OP with slots from FIRST on can be split; fills SPLIT. Tensors that it
 * makes on the way stay unused in the graph if the answer is no. The saved statistics keep their
 * tensors, which the backward pass reads. */
static int split_norm(struct fuser *f, const struct op *op, int first, struct split *split,
                      bool *ret_can, struct error *err) {
    struct graph *graph = f->graph;
    int x = op->inputs[first];
    split->conv = graph->tensors[x].producer;
    *ret_can = split->conv >= 0 && graph->ops[split->conv].kind == OP_CONV2D;
    if (!*ret_can)
        return 0;
    split->with_stats = graph->ops[split->conv];
    split->with_stats.kind = OP_CONV2D_STATS;
    struct op fresh = split->with_stats;
    if (op_rule(OP_CONV2D_STATS)->shape(graph, &fresh, err) != 0)
        return -1;
    split->with_stats.outputs[FUSED_CONV_SUM] = fresh.outputs[FUSED_CONV_SUM];
    split->with_stats.outputs[FUSED_CONV_SQUARE_SUM] = fresh.outputs[FUSED_CONV_SQUARE_SUM];

    split->finalize = empty_op(OP_NORM_FINALIZE, op->name);
    split->finalize.attr = op->attr;
    split->finalize.attr.target = graph->tensors[x].shape;
    split->finalize.inputs[NORM_FINALIZE_SUM] = fresh.outputs[FUSED_CONV_SUM];
    split->finalize.inputs[NORM_FINALIZE_SQUARE_SUM] = fresh.outputs[FUSED_CONV_SQUARE_SUM];
    for (int i = NORM_GAMMA; i <= NORM_VARIANCE; i++)
        split->finalize.inputs[i] = op->inputs[first + i];
    if (op_rule(OP_NORM_FINALIZE)->shape(graph, &split->finalize, err) != 0)
        return -1;
    int saved = first == NORM_X ? NORM_SAVED_MEAN : NORM_SAVED_MEAN2;
    split->finalize.outputs[NORM_FINALIZE_SAVED_MEAN] = op->outputs[saved];
    split->finalize.outputs[NORM_FINALIZE_SAVED_INVSTD] = op->outputs[saved + 1];
    *ret_can = fuser_supports(f, &split->with_stats) && fuser_supports(f, &split->finalize);
    return 0;
}

/* Returns the operator that applies a norm of this form; OP_KINDS if it cannot be split. */
static enum op_kind apply_kind(const struct op *norm) {
    if (norm->kind != OP_BATCH_NORM)
        return OP_KINDS;
    switch (norm->attr.form) {
    case NORM_RELU:
        return OP_NORM_APPLY_RELU;
    case NORM_ADD_RELU:
        return OP_JOIN_APPLY_RELU;
    case NORM_DUAL_ADD_RELU:
        return OP_DUAL_JOIN_APPLY_RELU;
    default:
        return OP_KINDS;
    }
}

/* Returns the operator that remains of NORM: it reads scale and bias in place of the statistics. */
static struct op apply_op(const struct op *norm, const struct split *splits) {
    struct op apply = empty_op(apply_kind(norm), norm->name);
    apply.rows = norm->rows;
    apply.inputs[FUSED_CONV_X] = norm->inputs[NORM_X];
    apply.inputs[FUSED_CONV_SCALE] = splits[0].finalize.outputs[NORM_FINALIZE_SCALE];
    apply.inputs[FUSED_CONV_BIAS] = splits[0].finalize.outputs[NORM_FINALIZE_BIAS];
    apply.inputs[FUSED_CONV_SIDE] = norm->inputs[NORM_SIDE];
    if (apply.kind == OP_DUAL_JOIN_APPLY_RELU) {
        apply.inputs[FUSED_CONV_SCALE2] = splits[1].finalize.outputs[NORM_FINALIZE_SCALE];
        apply.inputs[FUSED_CONV_BIAS2] = splits[1].finalize.outputs[NORM_FINALIZE_BIAS];
    }
    apply.outputs[0] = norm->outputs[NORM_Y];
    return apply;
}

/* Splits the norm at NUMBER, if it is one and can be split. Nothing is changed before all its parts
 * are known to be supported. The finalizing operators are inserted before the norm, which moves it
 * up. */
static int fuse_statistics(struct fuser *f, int number, struct error *err) {
    struct graph *graph = f->graph;
    struct op norm = graph->ops[number];
    if (apply_kind(&norm) == OP_KINDS)
        return 0;
    int count = norm.attr.form == NORM_DUAL_ADD_RELU ? 2 : 1;
    struct split splits[2];
    for (int i = 0; i < count; i++) {
        bool can = false;
        if (split_norm(f, &norm, i == 0 ? NORM_X : NORM_SIDE, &splits[i], &can, err) != 0)
            return -1;
        if (!can)
            return 0;
    }
    /* A single convolution before both norms would have to output its statistics twice. */
    if (count == 2 && splits[0].conv == splits[1].conv)
        return 0;
    struct op apply = apply_op(&norm, splits);
    if (!fuser_supports(f, &apply))
        return 0;
    graph->ops[number] = apply;
    fuser_claim_outputs(graph, number);
    for (int i = 0; i < count; i++) {
        graph->ops[splits[i].conv] = splits[i].with_stats;
        fuser_claim_outputs(graph, splits[i].conv);
        if (graph_insert(graph, number, &splits[i].finalize, err) != 0)
            return -1;
    }
    return 0;
}

/* --- the prologue of the next convolution ----------------------------------------------------- */

/* Returns CONV with the inputs of APPLY as its prologue. Slots of the two agree (enum
 * fused_conv_slot), so all but the weights are copied. */
static struct op with_prologue(const struct op *conv, const struct op *apply, enum op_kind kind) {
    struct op fused = *conv;
    fused.kind = kind;
    for (int i = 0; i < FUSED_CONV_INPUTS; i++)
        if (i != FUSED_CONV_W)
            fused.inputs[i] = apply->inputs[i];
    return fused;
}

/* Returns the weight gradient that recomputes the activation from the inputs of APPLY, as it is not
 * in memory any more. */
static struct op weight_with_prologue(const struct op *weight, const struct op *apply) {
    struct op fused = *weight;
    fused.kind = OP_NORM_CONV2D_GRAD_WEIGHT;
    fused.inputs[1] = apply->inputs[FUSED_CONV_X];
    fused.inputs[2] = apply->inputs[FUSED_CONV_SCALE];
    fused.inputs[3] = apply->inputs[FUSED_CONV_BIAS];
    return fused;
}

/* Normalization + ReLU is fused with its readers if these are one convolution and its weight
 * gradients: then nothing needs the activation itself. Any other reader would, and so would a
 * caller if the activation is an output of the graph. */
static bool fuse_norm_prologue(struct fuser *f, int number) {
    struct graph *graph = f->graph;
    struct op *apply = &graph->ops[number];
    int y = apply->outputs[0], conv = -1, weight = -1;
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        for (int k = 0; k < OP_INPUTS_MAX && op->kind != OP_KINDS; k++) {
            if (op->inputs[k] != y)
                continue;
            if (op->kind == OP_CONV2D_STATS && k == FUSED_CONV_X && conv < 0)
                conv = i;
            else if (op->kind == OP_CONV2D_GRAD_WEIGHT && k == 1 && weight < 0)
                weight = i;
            else
                return false;
        }
    }
    if (conv < 0 || graph->tensors[y].role != TENSOR_ACTIVATION)
        return false;
    struct op fused = with_prologue(&graph->ops[conv], apply, OP_NORM_CONV2D_STATS);
    if (!fuser_supports(f, &fused))
        return false;
    if (weight >= 0) {
        struct op fused_weight = weight_with_prologue(&graph->ops[weight], apply);
        if (!fuser_supports(f, &fused_weight))
            return false;
        graph->ops[weight] = fused_weight;
    }
    graph->ops[conv] = fused;
    apply->kind = OP_KINDS;
    return true;
}

/* Fuses a join with its first reader, which writes it to memory for the others. A first reader of
 * another kind ends the search: later ones would read the join before it is written. */
static bool fuse_join_prologue(struct fuser *f, int number) {
    struct graph *graph = f->graph;
    struct op *apply = &graph->ops[number];
    int join = apply->outputs[0];
    for (int i = number + 1; i < graph->op_count; i++) {
        struct op *op = &graph->ops[i];
        bool reads = false;
        for (int k = 0; k < OP_INPUTS_MAX && op->kind != OP_KINDS; k++)
            reads |= op->inputs[k] == join;
        if (!reads)
            continue;
        if (op->kind != OP_CONV2D_STATS || op->inputs[FUSED_CONV_X] != join)
            return false;
        struct op fused = with_prologue(
            op, apply,
            apply->kind == OP_JOIN_APPLY_RELU ? OP_JOIN_CONV2D_STATS : OP_DUAL_JOIN_CONV2D_STATS);
        fused.outputs[FUSED_CONV_JOIN] = join;
        if (!fuser_supports(f, &fused))
            return false;
        *op = fused;
        apply->kind = OP_KINDS;
        fuser_claim_outputs(graph, i);
        return true;
    }
    return false;
}

static bool fuse_prologue(struct fuser *f, int number) {
    switch (f->graph->ops[number].kind) {
    case OP_NORM_APPLY_RELU:
        return fuse_norm_prologue(f, number);
    case OP_JOIN_APPLY_RELU:
    case OP_DUAL_JOIN_APPLY_RELU:
        return fuse_join_prologue(f, number);
    default:
        return false;
    }
}

/* --- the passes ------------------------------------------------------------------------------- */

/* Applies APPLY to every operator, in order, with fresh counts of readers: each pass changes the
 * graph that the next one sees. */
static int run_pass(struct graph *graph, const struct backend *backend,
                    int (*apply)(struct fuser *f, int number, struct error *err),
                    struct error *err) {
    /* Rewrites add tensors: at most a handful per operator. */
    size_t most = (size_t)graph->tensor_count + 16 * (size_t)graph->op_count;
    cleanup_free int *readers = calloc(most + 1, sizeof(*readers));
    if (readers == NULL)
        return error_no_memory(err, "fusion");
    struct fuser f = {.graph = graph, .backend = backend, .readers = readers};
    fuser_count_readers(&f);
    for (int i = 0; i < graph->op_count; i++)
        if (graph->ops[i].kind != OP_KINDS && apply(&f, i, err) != 0)
            return -1;
    return graph_compact(graph, err);
}

static int prologue_pass(struct fuser *f, int number, struct error *err) {
    (void)err;
    (void)fuse_prologue(f, number);
    return 0;
}

/* The order of the passes matters: each matches what the one before it has made. */
int graph_fuse_convolutions(struct graph *graph, const struct backend *backend, struct error *err) {
    if (run_pass(graph, backend, fuse_frozen_gradient, err) != 0 ||
        run_pass(graph, backend, fuse_relu_gradient, err) != 0 ||
        run_pass(graph, backend, fuse_data_gradient, err) != 0 ||
        run_pass(graph, backend, fuse_statistics, err) != 0)
        return -1;
    if (run_pass(graph, backend, prologue_pass, err) != 0)
        return -1;
    return run_pass(graph, backend, fuse_conv_backward, err);
}
