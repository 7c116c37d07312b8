/* Softmax cross entropy with label smoothing, and its gradient. Small compared with everything
 * else, so it is computed in double and not vectorized explicitly. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/math/bf16.h"
#include "trainer/math/softmax_loss.h"

#include <math.h>

struct loss_op {
    struct cpu_step step;
    size_t samples, classes;
    double smoothing, scale;
    const float *logits, *weights;
    const int32_t *labels;
    double (*rows)[LOSS_METRICS]; /* a sample's metrics, in scratch */
    float *metrics;
    void *gradient;
    enum elem elem;
};

/* Both operators share the context, but only the forward one has scratch. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)err;
    size_t samples = (size_t)cpu_input(graph, op, 0)->shape.dim[0];
    ret_needs->scratch = samples * sizeof(double[LOSS_METRICS]);
    return 0;
}

/* Returns how many classes rank before LABEL. */
static int rank_of(const float *logits, int classes, int label) {
    int before = 0;
    for (int k = 0; k < classes; k++)
        before += softmax_before((double)logits[k], (double)logits[label], k, label);
    return before;
}

/* Samples of weight 0 fill up a batch: their labels mean nothing and are not read. */
static void score_sample(const struct loss_op *op, size_t sample) {
    const float *logits = op->logits + sample * op->classes;
    double weight = (double)op->weights[sample], *row = op->rows[sample];
    memset(row, 0, sizeof(double[LOSS_METRICS]));
    if (weight == 0)
        return;
    size_t label = (size_t)op->labels[sample];
    double total = softmax_log_sum_f32(logits, (int)op->classes), sum = 0;
    for (size_t k = 0; k < op->classes; k++)
        sum += total - (double)logits[k];
    int classes = (int)op->classes, before = rank_of(logits, classes, (int)label);
    double loss = (1 - op->smoothing) * (total - (double)logits[label]) +
                  op->smoothing / (double)op->classes * sum;
    row[LOSS_SUM] = weight * loss;
    row[LOSS_TOP1] = softmax_among(before, 1, classes) ? weight : 0;
    row[LOSS_TOP5] = softmax_among(before, 5, classes) ? weight : 0;
    row[LOSS_WEIGHT] = weight;
}

static void score_share(void *context, struct share share) {
    const struct loss_op *op = context;
    size_t begin, end;
    share_range(share, op->samples, 1, &begin, &end);
    for (size_t sample = begin; sample < end; sample++)
        score_sample(op, sample);
}

/* Samples are added in their order after the threads have finished, so the result does not depend
 * on how many there are. */
static int run_loss(void *context, struct error *err) {
    (void)err;
    struct loss_op *op = context;
    parallel_run(op->step.cpu->threads, score_share, op);
    double sum[LOSS_METRICS] = {0};
    for (size_t sample = 0; sample < op->samples; sample++)
        for (int i = 0; i < LOSS_METRICS; i++)
            sum[i] += op->rows[sample][i];
    for (int i = 0; i < LOSS_METRICS; i++)
        op->metrics[i] = (float)sum[i];
    return 0;
}

static void put(const struct loss_op *op, size_t at, double value) {
    if (op->elem == ELEM_F32)
        ((float *)op->gradient)[at] = (float)value;
    else
        ((uint16_t *)op->gradient)[at] = bf16_from_f32((float)value);
}

/* weight * (softmax - target); a sample without weight gets zeros. */
static void grade_sample(const struct loss_op *op, size_t sample) {
    const float *logits = op->logits + sample * op->classes;
    double weight = (double)op->weights[sample];
    double total = weight == 0 ? 0 : softmax_log_sum_f32(logits, (int)op->classes);
    for (size_t k = 0; k < op->classes; k++) {
        double value = 0;
        if (weight != 0) {
            double target = op->smoothing / (double)op->classes;
            if (k == (size_t)op->labels[sample])
                target += 1 - op->smoothing;
            value = op->scale * weight * (exp((double)logits[k] - total) - target);
        }
        put(op, sample * op->classes + k, value);
    }
}

static void grade_share(void *context, struct share share) {
    const struct loss_op *op = context;
    size_t begin, end;
    share_range(share, op->samples, 1, &begin, &end);
    for (size_t sample = begin; sample < end; sample++)
        grade_sample(op, sample);
}

static int run_grad(void *context, struct error *err) {
    (void)err;
    struct loss_op *op = context;
    parallel_run(op->step.cpu->threads, grade_share, op);
    return 0;
}

static int bind_loss(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    bool gradient = op->kind == OP_SOFTMAX_CROSS_ENTROPY_GRAD;
    struct loss_op *bound =
        cpu_step_new(cpu, sizeof *bound, gradient ? run_grad : run_loss, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct shape *logits = &cpu_input(graph, op, 0)->shape;
    bound->samples = (size_t)logits->dim[0];
    bound->classes = (size_t)logits->dim[1];
    bound->smoothing = op->attr.label_smoothing;
    bound->scale = op->attr.gradient_scale;
    bound->logits = addresses->inputs[0];
    bound->labels = addresses->inputs[1];
    bound->weights = addresses->inputs[2];
    bound->rows = addresses->scratch;
    if (gradient) {
        bound->gradient = addresses->outputs[0];
        bound->elem = cpu_elem(cpu_output(graph, op, 0)->dtype);
    } else {
        bound->metrics = addresses->outputs[0];
    }
    return 0;
}

const struct cpu_operator cpu_cross_entropy = {NULL, query, bind_loss};
const struct cpu_operator cpu_cross_entropy_grad = {NULL, NULL, bind_loss};
