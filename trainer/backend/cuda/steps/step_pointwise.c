#include "trainer/backend/cuda/base/context.h"

/* Elementwise functions, and the conversion of pixels. */

struct pointwise_step {
    struct cuda_step step;
    enum pointwise function;
    const void *a, *b;
    void *y;
    size_t count;
};

static int run_pointwise(void *context, struct error *err) {
    struct pointwise_step *s = context;
    cudaError_t status = launch_pointwise(s->step.cuda->stream, s->function, s->step.type, s->a,
                                          s->b, s->y, s->count);
    return cuda_step_check(&s->step, status, err);
}

static int bind_pointwise(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *bound,
                          struct error *err) {
    struct pointwise_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    s->function = op_pointwise(op->kind);
    s->step.type = cuda_output(graph, op, 0)->dtype; /* wide tensors are summed as well */
    s->a = addresses->inputs[0];
    s->b = addresses->inputs[1];
    s->y = addresses->outputs[0];
    s->count = (size_t)tensor_count(cuda_output(graph, op, 0));
    bound->step = (struct bound_step){run_pointwise, s};
    return 0;
}

const struct cuda_rule cuda_pointwise_rule = {cuda_query_in_place, bind_pointwise};

struct normalize_step {
    struct cuda_step step;
    struct normalize_args args;
};

static int run_normalize(void *context, struct error *err) {
    struct normalize_step *s = context;
    return cuda_step_check(&s->step, launch_normalize(s->step.cuda->stream, s->step.type, &s->args),
                           err);
}

/* (x / 255 - mean) / std as one multiplication and one addition. */
static int bind_normalize(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *bound,
                          struct error *err) {
    struct normalize_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    s->args.image = addresses->inputs[0];
    s->args.y = addresses->outputs[0];
    s->args.pixels = cuda_rows(cuda_input(graph, op, 0));
    s->args.channels = op->attr.channels;
    for (int c = 0; c < 3; c++) {
        s->args.scale[c] = 1.0F / (255.0F * op->attr.std[c]);
        s->args.bias[c] = -op->attr.mean[c] / op->attr.std[c];
    }
    bound->step = (struct bound_step){run_normalize, s};
    return 0;
}

const struct cuda_rule cuda_normalize_rule = {NULL, bind_normalize};
