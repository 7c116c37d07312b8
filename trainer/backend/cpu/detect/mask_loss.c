/* Loss of the mask head: in double, summed by row and then in the rows' order. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/graph/op_roi.h"
#include "trainer/math/bf16.h"
#include "trainer/math/detect_loss.h"

struct mask_op {
    struct cpu_step step;
    enum elem elem; /* of the gradient */
    size_t rows, pixels;
    const float *logits, *targets;
    const int32_t *count;
    double *parts; /* of the rows, in scratch */
    float *value;
    void *dlogits;
    double scale; /* of the gradient */
};

/* One unit is a row of the head, that is a region's mask. */
static void score_row(void *context, int thread, size_t row) {
    const struct mask_op *op = context;
    (void)thread;
    double sum = 0;
    for (size_t i = row * op->pixels; i < (row + 1) * op->pixels; i++)
        sum += logit_loss((double)op->logits[i], (double)op->targets[i]);
    op->parts[row] = sum;
}

/* Only the first rows count; their number is known when the step runs. */
static int run_loss(void *context, struct error *err) {
    (void)err;
    struct mask_op *op = context;
    size_t rows = (size_t)*op->count;
    double sum = 0;
    parallel_units(op->step.cpu->threads, rows, score_row, op);
    for (size_t row = 0; row < rows; row++)
        sum += op->parts[row];
    *op->value = rows > 0 ? (float)(sum / (double)(rows * op->pixels)) : 0;
    return 0;
}

/* Rows after the last one that counts get zeros, as the gradient is read whole. */
static void grade_row(void *context, int thread, size_t row) {
    const struct mask_op *op = context;
    (void)thread;
    size_t first = row * op->pixels, rows = (size_t)*op->count;
    if (row >= rows) {
        memset((char *)op->dlogits + first * elem_size(op->elem), 0,
               op->pixels * elem_size(op->elem));
        return;
    }
    double share = op->scale / (double)(rows * op->pixels);
    for (size_t i = first; i < first + op->pixels; i++) {
        float slope =
            (float)(logit_loss_gradient((double)op->logits[i], (double)op->targets[i]) * share);
        if (op->elem == ELEM_F32)
            ((float *)op->dlogits)[i] = slope;
        else
            ((uint16_t *)op->dlogits)[i] = bf16_from_f32(slope);
    }
}

static int run_grad(void *context, struct error *err) {
    (void)err;
    struct mask_op *op = context;
    parallel_units(op->step.cpu->threads, op->rows, grade_row, op);
    return 0;
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)err;
    ret_needs->scratch =
        (size_t)cpu_input(graph, op, MASK_LOSS_LOGITS)->shape.dim[0] * sizeof(double);
    return 0;
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    bool gradient = op->kind == OP_MASK_LOSS_GRAD;
    struct mask_op *bound =
        cpu_step_new(cpu, sizeof *bound, gradient ? run_grad : run_loss, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct shape *logits = &cpu_input(graph, op, MASK_LOSS_LOGITS)->shape;
    bound->rows = (size_t)logits->dim[0];
    bound->pixels = (size_t)(logits->dim[1] * logits->dim[2]);
    bound->logits = addresses->inputs[MASK_LOSS_LOGITS];
    bound->targets = addresses->inputs[MASK_LOSS_T];
    bound->count = addresses->inputs[MASK_LOSS_ROWS];
    if (gradient) {
        bound->elem = cpu_elem(cpu_output(graph, op, MASK_LOSS_GRAD_DLOGITS)->dtype);
        bound->scale = op->attr.gradient_scale;
        bound->dlogits = addresses->outputs[MASK_LOSS_GRAD_DLOGITS];
    } else {
        bound->parts = addresses->scratch;
        bound->value = addresses->outputs[MASK_LOSS_VALUE];
    }
    return 0;
}

const struct cpu_operator cpu_mask_loss = {NULL, query, bind};
const struct cpu_operator cpu_mask_loss_grad = {NULL, NULL, bind};
