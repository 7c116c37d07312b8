/* A bias per channel, with or without a ReLU, and its gradient. */
#include "trainer/backend/cpu/base/columns.h"
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"

struct bias {
    struct cpu_step step;
    struct norm_forward apply; /* a norm with scales of 1 */
    size_t rows;
    float *ones; /* [channels] */
};

static void bias_share(void *context, struct share share) {
    const struct bias *bias = context;
    size_t begin, end;
    share_range(share, bias->rows, 1, &begin, &end);
    bias->step.cpu->loops->norm_forward(&bias->apply, begin, end);
}

/* The loop of norms does the work: with scales of 1 it adds the bias, and it can apply a ReLU. */
static int run_bias(void *context, struct error *err) {
    (void)err;
    struct bias *bias = context;
    parallel_run(bias->step.cpu->threads, bias_share, bias);
    return 0;
}

static void done_bias(void *context) {
    free(((struct bias *)context)->ones);
}

static int bind_bias(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    const struct tensor *x = cpu_input(graph, op, 0);
    size_t channels = cpu_channels(&x->shape);
    struct bias *bias = cpu_step_new(cpu, sizeof *bias, run_bias, done_bias, ret_bound, err);
    if (bias == NULL)
        return -1;
    bias->ones = malloc(channels * sizeof *bias->ones);
    if (bias->ones == NULL)
        return error_no_memory(err, "a bias");
    for (size_t c = 0; c < channels; c++)
        bias->ones[c] = 1;
    bias->rows = cpu_rows(&x->shape);
    bias->apply = (struct norm_forward){.elem = cpu_elem(x->dtype),
                                        .channels = channels,
                                        .relu = op->attr.relu,
                                        .x = addresses->inputs[0],
                                        .scale = bias->ones,
                                        .shift = addresses->inputs[1],
                                        .y = addresses->outputs[0]};
    return 0;
}

const struct cpu_operator cpu_bias = {NULL, cpu_query_in_place, bind_bias};

/* The gradient is the sum of dy's rows, by base/columns.h. The scratch holds its partial sums. */
struct bias_grad {
    struct cpu_step step;
    struct columns columns;
};

static int query_grad(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                      struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)err;
    const struct shape *dy = &cpu_input(graph, op, 0)->shape;
    ret_needs->scratch = columns_scratch(cpu_rows(dy), cpu_channels(dy));
    return 0;
}

static int run_grad(void *context, struct error *err) {
    (void)err;
    columns_run(&((struct bias_grad *)context)->columns);
    return 0;
}

static int bind_grad(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    const struct tensor *dy = cpu_input(graph, op, 0);
    struct bias_grad *grad = cpu_step_new(cpu, sizeof *grad, run_grad, NULL, ret_bound, err);
    if (grad == NULL)
        return -1;
    grad->columns = (struct columns){.loops = cpu->loops,
                                     .threads = cpu->threads,
                                     .x = addresses->inputs[0],
                                     .elem = cpu_elem(dy->dtype),
                                     .rows = cpu_rows(&dy->shape),
                                     .channels = cpu_channels(&dy->shape),
                                     .sums = addresses->outputs[0],
                                     .partial = addresses->scratch};
    return 0;
}

const struct cpu_operator cpu_bias_grad = {NULL, query_grad, bind_grad};
