#include "trainer/backend/cuda/base/context.h"

/* Softmax cross-entropy and its gradient. The loss writes sums over the batch (loss, hits,
 * weights), not means, so that batches can be added up; the gradient is already scaled for the mean
 * of the whole step, and by the loss scale on the device. */

struct loss_step {
    struct cuda_step step;
    struct loss_args args;
    float *metrics, *partial;
    void *dlogits;
    float gradient_scale;
};

/* Partial sums of each sample; the gradient needs none. */
static int query_loss(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    if (op->kind == OP_SOFTMAX_CROSS_ENTROPY)
        needs->scratch = cuda_rows(cuda_input(graph, op, 0)) * LOSS_METRICS * sizeof(float);
    return 0;
}

static int run_loss(void *context, struct error *err) {
    struct loss_step *s = context;
    cudaError_t status = launch_loss(s->step.cuda->stream, &s->args, s->metrics, s->partial);
    return cuda_step_check(&s->step, status, err);
}

static int run_loss_grad(void *context, struct error *err) {
    struct loss_step *s = context;
    const struct cuda *cuda = s->step.cuda;
    cudaError_t status = launch_loss_grad(cuda->stream, s->step.type, &s->args, s->dlogits,
                                          s->gradient_scale, &cuda->control->state.loss_scale);
    return cuda_step_check(&s->step, status, err);
}

static int bind_loss(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct loss_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    const struct tensor *logits = cuda_input(graph, op, 0);
    s->args = (struct loss_args){.logits = addresses->inputs[0],
                                 .labels = addresses->inputs[1],
                                 .weights = addresses->inputs[2],
                                 .batch = (int)cuda_rows(logits),
                                 .classes = cuda_channels(logits),
                                 .smoothing = (float)op->attr.label_smoothing};
    if (op->kind == OP_SOFTMAX_CROSS_ENTROPY) {
        s->metrics = addresses->outputs[0];
        s->partial = addresses->scratch;
        bound->step = (struct bound_step){run_loss, s};
    } else {
        s->dlogits = addresses->outputs[0];
        s->gradient_scale = (float)op->attr.gradient_scale;
        bound->step = (struct bound_step){run_loss_grad, s};
    }
    return 0;
}

const struct cuda_rule cuda_loss_rule = {query_loss, bind_loss};
