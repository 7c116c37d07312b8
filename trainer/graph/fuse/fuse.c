#include "trainer/graph/fuse/fuse.h"

#include "common/cleanup.h"
#include "common/table.h"
#include "trainer/graph/fuse/fuser.h"
#include "trainer/graph/schedule.h"

#include <stdlib.h>

static const char *const names[] = {
    [FUSION_NONE] = "none", [FUSION_NORM] = "norm", [FUSION_ALL] = "all", [FUSION_CONV] = "conv"};

int fusion_parse(const char *name, enum fusion *ret, struct error *err) {
    const size_t level = TABLE_INDEX(names, name);
    if (level == TABLE_COUNT(names))
        return error_set(err, EXIT_CODE_USAGE,
                         "unknown fusion level '%s'; expected one of none, norm, all, conv", name);
    *ret = (enum fusion)level;
    return 0;
}

const char *fusion_name(enum fusion level) {
    return names[level];
}

/* Returns the norm without a ReLU, with batch or running statistics, that produces TENSOR, if
 * TENSOR has exactly one reader; else NULL. */
static struct op *only_norm(const struct fuser *f, int tensor) {
    struct op *norm = fuser_sole_producer(f, tensor, OP_BATCH_NORM);
    if (norm == NULL)
        norm = fuser_sole_producer(f, tensor, OP_BATCH_NORM_INFERENCE);
    return norm != NULL && norm->attr.form == NORM_PLAIN ? norm : NULL;
}

/* relu(norm(x)) */
static bool fuse_norm_relu(struct fuser *f, struct op *relu) {
    if (relu->kind != OP_RELU)
        return false;
    struct op *norm = only_norm(f, relu->inputs[0]);
    if (norm == NULL)
        return false;
    struct op fused = *norm;
    fused.attr.form = NORM_RELU;
    fused.outputs[NORM_Y] = relu->outputs[0];
    return fuser_replace(f, relu, &fused, norm, NULL, NULL);
}

/* Returns true if one operator can compute both norms: it has a single epsilon and momentum. */
static bool are_alike(const struct op *norm, const struct op *other) {
    return norm->kind == other->kind && norm->attr.epsilon == other->attr.epsilon &&
           norm->attr.momentum == other->attr.momentum;
}

/* relu(norm(x) + norm2(side)), else relu(norm(x) + side). The later norm becomes the first one,
 * since the other belongs to the shortcut. */
static bool fuse_join(struct fuser *f, struct op *relu) {
    struct op *add = relu->kind == OP_RELU ? fuser_sole_producer(f, relu->inputs[0], OP_ADD) : NULL;
    if (add == NULL)
        return false;
    struct op *norm = only_norm(f, add->inputs[0]);
    struct op *side = only_norm(f, add->inputs[1]);
    if (norm != NULL && side != NULL && norm != side && are_alike(norm, side)) {
        struct op fused = *norm;
        fused.attr.form = NORM_DUAL_ADD_RELU;
        fused.outputs[NORM_Y] = relu->outputs[0];
        for (int i = 0; i < NORM_SIDE; i++)
            fused.inputs[NORM_SIDE + i] = side->inputs[NORM_X + i];
        fused.outputs[NORM_SAVED_MEAN2] = side->outputs[NORM_SAVED_MEAN];
        fused.outputs[NORM_SAVED_INVSTD2] = side->outputs[NORM_SAVED_INVSTD];
        if (fuser_replace(f, relu, &fused, norm, side, add))
            return true;
    }
    struct op *one = norm != NULL ? norm : side;
    if (one == NULL)
        return false;
    struct op fused = *one;
    fused.attr.form = NORM_ADD_RELU;
    fused.outputs[NORM_Y] = relu->outputs[0];
    fused.inputs[NORM_SIDE] = one == norm ? add->inputs[1] : add->inputs[0];
    return fuser_replace(f, relu, &fused, one, add, NULL);
}

static bool fuse_add_relu(struct fuser *f, struct op *relu) {
    struct op *add = relu->kind == OP_RELU ? fuser_sole_producer(f, relu->inputs[0], OP_ADD) : NULL;
    if (add == NULL)
        return false;
    struct op fused = *add;
    fused.kind = OP_ADD_RELU;
    fused.outputs[0] = relu->outputs[0];
    return fuser_replace(f, relu, &fused, add, NULL, NULL);
}

/* max_pool(relu(norm(x))), in training only: inference keeps no index and gains little. */
static bool fuse_norm_pool(struct fuser *f, struct op *pool) {
    if (pool->kind != OP_MAX_POOL || !f->graph->training)
        return false;
    struct op *norm = fuser_sole_producer(f, pool->inputs[0], OP_BATCH_NORM);
    if (norm == NULL || norm->attr.form != NORM_RELU)
        return false;
    struct op fused = *norm;
    fused.attr.form = NORM_RELU_MAX_POOL;
    fused.attr.window = pool->attr.window;
    fused.outputs[NORM_Y] = pool->outputs[0];
    fused.outputs[NORM_POOL_INDEX] = pool->outputs[1];
    return fuser_replace(f, pool, &fused, norm, NULL, NULL);
}

/* A norm's gradient reads a sum of two gradients: it can add them itself. */
static bool fuse_gradient_sum(struct fuser *f, struct op *grad) {
    if (grad->kind != OP_BATCH_NORM_GRAD || grad->inputs[NORM_GRAD_DY2] != TENSOR_NONE)
        return false;
    struct op *add = fuser_sole_producer(f, grad->inputs[NORM_GRAD_DY], OP_ADD);
    if (add == NULL)
        return false;
    struct op fused = *grad;
    fused.inputs[NORM_GRAD_DY] = add->inputs[0];
    fused.inputs[NORM_GRAD_DY2] = add->inputs[1];
    return fuser_replace(f, grad, &fused, add, NULL, NULL);
}

/* Patterns, tried in this order at every operator. */
static const struct {
    enum fusion level;
    bool (*apply)(struct fuser *f, struct op *op);
} patterns[] = {
    {FUSION_NORM, fuse_norm_relu}, {FUSION_NORM, fuse_join},         {FUSION_NORM, fuse_add_relu},
    {FUSION_ALL, fuse_norm_pool},  {FUSION_NORM, fuse_gradient_sum}, {FUSION_ALL, fuse_rpn_head},
};

int graph_fuse(struct graph *graph, const struct backend *backend, enum fusion level,
               struct error *err) {
    cleanup_free int *readers = calloc((size_t)graph->tensor_count + 1, sizeof(*readers));
    if (readers == NULL)
        return error_no_memory(err, "fusion");
    struct fuser f = {.graph = graph, .backend = backend, .readers = readers};
    fuser_count_readers(&f);
    for (int i = 0; i < graph->op_count; i++)
        for (size_t k = 0; k < sizeof(patterns) / sizeof(patterns[0]); k++)
            if (patterns[k].level <= level && graph->ops[i].kind != OP_KINDS)
                (void)patterns[k].apply(&f, &graph->ops[i]);
    /* Last, because ReLUs and sums are first fused with norms. */
    for (int i = 0; i < graph->op_count && level >= FUSION_NORM; i++)
        fuse_affine(&f, &graph->ops[i]);
    return graph_compact(graph, err);
}
