/* Losses of a region proposal network and their gradient: a few hundred anchors per picture, in
 * double and always in the same order. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/bf16.h"
#include "trainer/math/detect_loss.h"
#include "trainer/math/match.h"

struct rpn_loss_op {
    struct cpu_step step;
    struct detect_attr attr;
    struct anchor_grid grid;
    double scale;          /* of gradients */
    size_t slots, samples; /* slots: samples of all pictures */
    const float *logits[DETECT_LEVELS_MAX], *deltas[DETECT_LEVELS_MAX]; /* gradient: of one level */
    const int32_t *index, *label;
    const float *target;
    float *losses;
    void *dlogits, *ddeltas;
    size_t anchors; /* of the gradients */
    enum elem elem;
};

/* The two detectors differ here: one divides by the samples that it asked for, the other by those
 * that it got. */
static double divisor(const struct rpn_loss_op *op) {
    size_t found = 0;
    for (size_t i = 0; i < op->slots; i++)
        found += op->index[i] >= 0;
    if ((op->attr.flags & DETECT_RPN_FIXED_COUNT) != 0)
        return (double)op->slots;
    return found > 0 ? (double)found : 1;
}

/* Returns the row of slot I's anchor in its level's matrices of logits. */
static size_t row_of(const struct rpn_loss_op *op, size_t i, const struct anchor_level *level) {
    return i / op->samples * (size_t)anchor_level_count(level) +
           (size_t)(op->index[i] - level->first);
}

/* Not parallel, as it is a few hundred terms. */
static int run_loss(void *context, struct error *err) {
    (void)err;
    const struct rpn_loss_op *op = context;
    const double all = divisor(op), beta = (double)op->attr.beta;
    double sum[RPN_LOSSES] = {0};
    for (size_t i = 0; i < op->slots; i++) {
        if (op->index[i] < 0)
            continue;
        int level = anchor_level_of(&op->grid, op->index[i]);
        size_t row = row_of(op, i, &op->grid.level[level]);
        sum[RPN_LOSS_SAMPLED]++;
        sum[RPN_LOSS_OBJECTNESS] += logit_loss((double)op->logits[level][row], op->label[i]) / all;
        if (op->label[i] != MATCH_OBJECT)
            continue;
        sum[RPN_LOSS_POSITIVES]++;
        for (size_t k = 0; k < 4; k++)
            sum[RPN_LOSS_BOX] +=
                smooth_l1((double)op->deltas[level][row * 4 + k] - (double)op->target[i * 4 + k],
                          beta) /
                all;
    }
    for (int k = 0; k < RPN_LOSSES; k++)
        op->losses[k] = (float)sum[k];
    return 0;
}

static void put(const struct rpn_loss_op *op, void *values, size_t at, double value) {
    if (op->elem == ELEM_F32)
        ((float *)values)[at] = (float)value;
    else
        ((uint16_t *)values)[at] = bf16_from_f32((float)value);
}

static void clear(void *values, size_t count, size_t size, struct share share) {
    size_t begin, end;
    share_range(share, count * size, BACKEND_ALIGNMENT, &begin, &end);
    memset((char *)values + begin, 0, end - begin);
}

/* Nearly all anchors have no sample, and their gradient is zero. */
static void clear_share(void *context, struct share share) {
    const struct rpn_loss_op *op = context;
    size_t size = op->elem == ELEM_F32 ? sizeof(float) : sizeof(uint16_t);
    clear(op->dlogits, op->anchors, size, share);
    clear(op->ddeltas, op->anchors * 4, size, share);
}

/* One operator per level. Each sample has an anchor of its own, so values are put, not added. */
static int run_grad(void *context, struct error *err) {
    (void)err;
    struct rpn_loss_op *op = context;
    const struct anchor_level *level = &op->grid.level[op->attr.level];
    const double scale = op->scale / divisor(op), beta = (double)op->attr.beta;
    parallel_run(op->step.cpu->threads, clear_share, op);
    for (size_t i = 0; i < op->slots; i++) {
        if (op->index[i] < 0 || anchor_level_of(&op->grid, op->index[i]) != op->attr.level)
            continue;
        size_t row = row_of(op, i, level);
        put(op, op->dlogits, row,
            scale * logit_loss_gradient((double)op->logits[0][row], op->label[i]));
        for (size_t k = 0; k < 4 && op->label[i] == MATCH_OBJECT; k++)
            put(op, op->ddeltas, row * 4 + k,
                scale *
                    smooth_l1_gradient(
                        (double)op->deltas[0][row * 4 + k] - (double)op->target[i * 4 + k], beta));
    }
    return 0;
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    bool gradient = op->kind == OP_RPN_LOSS_GRAD;
    struct rpn_loss_op *bound =
        cpu_step_new(cpu, sizeof *bound, gradient ? run_grad : run_loss, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    int slot = gradient ? RPN_LOSS_GRAD_INDEX : RPN_LOSS_INDEX;
    const struct shape *samples = &cpu_input(graph, op, slot)->shape;
    bound->attr = op->attr.detect;
    bound->grid = detect_grid(&op->attr.detect);
    bound->scale = op->attr.gradient_scale;
    bound->slots = (size_t)shape_count(samples);
    bound->samples = (size_t)samples->dim[1];
    bound->index = addresses->inputs[slot];
    bound->label = addresses->inputs[slot + 1];
    bound->target = addresses->inputs[slot + 2];
    if (gradient) {
        bound->logits[0] = addresses->inputs[RPN_LOSS_GRAD_LOGITS];
        bound->deltas[0] = addresses->inputs[RPN_LOSS_GRAD_DELTAS];
        bound->dlogits = addresses->outputs[RPN_LOSS_GRAD_DLOGITS];
        bound->ddeltas = addresses->outputs[RPN_LOSS_GRAD_DDELTAS];
        bound->anchors = (size_t)tensor_count(cpu_output(graph, op, RPN_LOSS_GRAD_DLOGITS));
        bound->elem = cpu_elem(cpu_output(graph, op, RPN_LOSS_GRAD_DLOGITS)->dtype);
        return 0;
    }
    for (int level = 0; level < bound->grid.levels; level++) {
        bound->logits[level] = addresses->inputs[RPN_LOSS_LOGITS + level];
        bound->deltas[level] = addresses->inputs[RPN_LOSS_DELTAS + level];
    }
    bound->losses = addresses->outputs[RPN_LOSS_VALUES];
    return 0;
}

const struct cpu_operator cpu_rpn_loss = {NULL, NULL, bind};
const struct cpu_operator cpu_rpn_loss_grad = {NULL, NULL, bind};
