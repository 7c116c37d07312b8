/* Losses of the box head: few numbers, so computed in double and not vectorized explicitly. Rows
 * are computed concurrently and summed in order. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/graph/op_roi.h"
#include "trainer/math/bf16.h"
#include "trainer/math/detect_loss.h"
#include "trainer/math/softmax_loss.h"

/* A row is a sampled region: a label from -1 (an unused slot) over 0 (background) to the last
 * class. The classifier's loss is the cross-entropy of the softmax; the box loss is smooth L1 on
 * the four deltas of the label's class alone, and only for objects. Both are means over the sampled
 * rows of the batch, as in Fast R-CNN (Girshick 2015).
 *
 * The value operator also reports how many rows were sampled and positive, and how many were
 * classified correctly; no gradient depends on these. */

struct box_op {
    struct cpu_step step;
    size_t rows, classes;
    double beta;
    const float *logits, *deltas, *target;
    const int32_t *label;
    double (*parts)[BOX_LOSSES]; /* of the rows, in scratch */
    float *values;
    enum elem elem; /* of the gradients */
    void *dlogits, *ddeltas;
    double scale; /* of the gradients */
    double share; /* weight of a row in the mean, times that */
};

/* Ties go to the class with the lower number, and a NaN is never right (math/softmax_loss.h). */
static bool is_right(const float *logits, int classes, int label) {
    for (int k = 0; k < classes; k++)
        if (softmax_before((double)logits[k], (double)logits[label], k, label))
            return false;
    return true;
}

/* Returns the difference of delta I of the label's class from its target. Deltas are [rows,
 * classes, 4], targets [rows, 4]. */
static double apart(const struct box_op *op, size_t row, size_t label, size_t i) {
    return (double)op->deltas[4 * (row * op->classes + label) + i] -
           (double)op->target[4 * row + i];
}

/* Writes all of the row's parts, zeros for an unused slot. The scratch need not be cleared. */
static void score_row(const struct box_op *op, size_t row) {
    const float *logits = op->logits + row * op->classes;
    double *part = op->parts[row];
    memset(part, 0, sizeof(double[BOX_LOSSES]));
    if (op->label[row] < 0)
        return;
    size_t label = (size_t)op->label[row];
    part[BOX_LOSS_SAMPLED] = 1;
    part[BOX_LOSS_POSITIVES] = label > 0;
    part[BOX_LOSS_CLASSIFIER] =
        softmax_log_sum_f32(logits, (int)op->classes) - (double)logits[label];
    part[BOX_LOSS_ACCURACY] = is_right(logits, (int)op->classes, (int)label);
    for (size_t i = 0; i < 4 && label > 0; i++)
        part[BOX_LOSS_BOX_REG] += smooth_l1(apart(op, row, label, i), op->beta);
}

/* Rows of this thread; each writes its own part. */
static void score_share(void *context, struct share share) {
    const struct box_op *op = context;
    size_t begin, end;
    share_range(share, op->rows, 1, &begin, &end);
    for (size_t row = begin; row < end; row++)
        score_row(op, row);
}

/* Sums are taken row by row in one thread: the order is then fixed. Means over no sample are 0
 * instead of NaN. */
static int run_loss(void *context, struct error *err) {
    (void)err;
    struct box_op *op = context;
    double sum[BOX_LOSSES] = {0};
    parallel_run(op->step.cpu->threads, score_share, op);
    for (size_t row = 0; row < op->rows; row++)
        for (int i = 0; i < BOX_LOSSES; i++)
            sum[i] += op->parts[row][i];
    for (int i = 0; i < BOX_LOSSES; i++) {
        bool mean = i != BOX_LOSS_POSITIVES && i != BOX_LOSS_SAMPLED && sum[BOX_LOSS_SAMPLED] > 0;
        op->values[i] = (float)(mean ? sum[i] / sum[BOX_LOSS_SAMPLED] : sum[i]);
    }
    return 0;
}

/* Gradients have the activations' type, unlike the losses. bf16 values are rounded from f32, which
 * is rounded from double. */
static void put(const struct box_op *op, void *to, size_t at, double value) {
    if (op->elem == ELEM_F32)
        ((float *)to)[at] = (float)value;
    else
        ((uint16_t *)to)[at] = bf16_from_f32((float)value);
}

/* Writes every gradient of the row, as outputs are not cleared before: most deltas belong to other
 * classes and get 0. */
static void grade_row(const struct box_op *op, size_t row) {
    const float *logits = op->logits + row * op->classes;
    int32_t label = op->label[row];
    double total = label < 0 ? 0 : softmax_log_sum_f32(logits, (int)op->classes);
    for (size_t k = 0; k < op->classes; k++) {
        double value =
            label < 0 ? 0 : exp((double)logits[k] - total) - (k == (size_t)label ? 1 : 0);
        put(op, op->dlogits, row * op->classes + k, value * op->share);
        for (size_t i = 0; i < 4; i++) {
            bool own = label > 0 && k == (size_t)label;
            double slope = own ? smooth_l1_gradient(apart(op, row, k, i), op->beta) : 0;
            put(op, op->ddeltas, 4 * (row * op->classes + k) + i, own ? slope * op->share : 0);
        }
    }
}

static void grade_share(void *context, struct share share) {
    const struct box_op *op = context;
    size_t begin, end;
    share_range(share, op->rows, 1, &begin, &end);
    for (size_t row = begin; row < end; row++)
        grade_row(op, row);
}

/* The divisor is counted here: the gradient does not read the outputs of the loss. A batch without
 * a sample has gradients of 0. */
static int run_grad(void *context, struct error *err) {
    (void)err;
    struct box_op *op = context;
    size_t sampled = 0;
    for (size_t row = 0; row < op->rows; row++)
        sampled += op->label[row] >= 0;
    op->share = sampled > 0 ? op->scale / (double)sampled : 0;
    parallel_run(op->step.cpu->threads, grade_share, op);
    return 0;
}

/* Only the loss keeps parts; the gradient operator has no query. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)err;
    size_t rows = (size_t)cpu_input(graph, op, BOX_LOSS_LOGITS)->shape.dim[0];
    ret_needs->scratch = rows * sizeof(double[BOX_LOSSES]);
    return 0;
}

/* The gradient's inputs are those of the loss, in the same slots. Exactly one of the two halves of
 * the struct is set, depending on the operator. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    bool gradient = op->kind == OP_BOX_LOSS_GRAD;
    struct box_op *bound =
        cpu_step_new(cpu, sizeof *bound, gradient ? run_grad : run_loss, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct shape *logits = &cpu_input(graph, op, BOX_LOSS_LOGITS)->shape;
    bound->rows = (size_t)logits->dim[0];
    bound->classes = (size_t)logits->dim[1];
    bound->beta = (double)op->attr.detect.beta;
    bound->scale = op->attr.gradient_scale;
    bound->logits = addresses->inputs[BOX_LOSS_LOGITS];
    bound->deltas = addresses->inputs[BOX_LOSS_DELTAS];
    bound->label = addresses->inputs[BOX_LOSS_LABEL];
    bound->target = addresses->inputs[BOX_LOSS_TARGET];
    if (gradient) {
        bound->elem = cpu_elem(cpu_output(graph, op, BOX_LOSS_GRAD_DLOGITS)->dtype);
        bound->dlogits = addresses->outputs[BOX_LOSS_GRAD_DLOGITS];
        bound->ddeltas = addresses->outputs[BOX_LOSS_GRAD_DDELTAS];
    } else {
        bound->parts = addresses->scratch;
        bound->values = addresses->outputs[BOX_LOSS_VALUES];
    }
    return 0;
}

const struct cpu_operator cpu_box_loss = {NULL, query, bind};
const struct cpu_operator cpu_box_loss_grad = {NULL, NULL, bind};
