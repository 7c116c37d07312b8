/* Batch norm with what may follow it (ReLU, a join, both norms of a projection block): one pass
 * for the statistics of each input, one that normalizes, adds and applies the ReLU. */
#include "trainer/backend/cpu/dense/norm.h"

/* The second pass goes backwards through x, as the first pass has left its end in the caches.
 * Results that are larger than NORM_STREAM_BYTES bypass the caches. The form with a max pool has
 * its own functions in norm_pool.c. */

struct norm_op {
    struct cpu_step step;
    struct norm_size size;
    struct norm_branch branch[2];
    int branches;
    bool training;
    struct norm_forward apply;
    char *scratch;
};

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    ret_needs->scratch =
        norm_forward_scratch(cpu, cpu_channels(&cpu_input(graph, op, NORM_X)->shape));
    ret_needs->in_place = true;
    return 0;
}

static void apply_rows(void *context, struct share share) {
    const struct norm_op *norm = context;
    size_t begin, end, block;
    share_range(share, norm->size.rows, 1, &begin, &end);
    for (; block_backwards(begin, NORM_BLOCK_ROWS, &block, &end); end = block)
        norm->step.cpu->loops->norm_forward(&norm->apply, block, end);
}

/* Inference computes factors from the running statistics and reads x once. */
static int run(void *context, struct error *err) {
    (void)err;
    struct norm_op *norm = context;
    for (int i = 0; i < norm->branches; i++)
        if (norm->training)
            norm_use_batch(norm->step.cpu, &norm->size, &norm->branch[i], norm->scratch);
        else
            norm_use_running(&norm->size, &norm->branch[i]);
    parallel_run(norm->step.cpu->threads, apply_rows, norm);
    return 0;
}

static struct norm_branch branch_at(const struct op_addresses *addresses, int index,
                                    bool training) {
    int in = index == 0 ? NORM_GAMMA : NORM_GAMMA2;
    int out = index == 0 ? NORM_SAVED_MEAN : NORM_SAVED_MEAN2;
    struct norm_branch branch = {.x = addresses->inputs[index == 0 ? NORM_X : NORM_SIDE],
                                 .gamma = addresses->inputs[in],
                                 .beta = addresses->inputs[in + 1],
                                 .mean = addresses->inputs[in + 2],
                                 .variance = addresses->inputs[in + 3]};
    if (training) {
        branch.saved_mean = addresses->outputs[out];
        branch.saved_invstd = addresses->outputs[out + 1];
    }
    return branch;
}

static int bind_as(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                   const struct op_addresses *addresses, bool training,
                   struct backend_bound *ret_bound, struct error *err) {
    struct norm_op *norm = cpu_step_new(cpu, sizeof *norm, run, NULL, ret_bound, err);
    if (norm == NULL)
        return -1;
    const struct tensor *x = cpu_input(graph, op, NORM_X);
    norm->size = (struct norm_size){.elem = cpu_elem(x->dtype),
                                    .rows = cpu_rows(&x->shape),
                                    .channels = cpu_channels(&x->shape),
                                    .epsilon = op->attr.epsilon,
                                    .momentum = op->attr.momentum};
    norm->training = training;
    norm->scratch = addresses->scratch;
    norm->branches = op->attr.form == NORM_DUAL_ADD_RELU ? 2 : 1;
    for (int i = 0; i < norm->branches; i++) {
        norm->branch[i] = branch_at(addresses, i, training);
        norm_forward_place(cpu, norm->size.channels, addresses->scratch, i, &norm->branch[i]);
    }
    norm->apply = (struct norm_forward){.elem = norm->size.elem,
                                        .channels = norm->size.channels,
                                        .relu = op->attr.form != NORM_PLAIN,
                                        .x = addresses->inputs[NORM_X],
                                        .scale = norm->branch[0].scale,
                                        .shift = norm->branch[0].shift,
                                        .other = addresses->inputs[NORM_SIDE],
                                        .other_scale = norm->branch[1].scale,
                                        .other_shift = norm->branch[1].shift,
                                        .y = addresses->outputs[NORM_Y]};
    norm->apply.stream = tensor_bytes(x) > NORM_STREAM_BYTES && norm->size.channels % 16 == 0;
    return 0;
}

static int query_training(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                          struct backend_needs *ret_needs, struct error *err) {
    return op->attr.form == NORM_RELU_MAX_POOL ? norm_pool_query(cpu, graph, op, ret_needs)
                                               : query(cpu, graph, op, ret_needs, err);
}

static int bind_training(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *ret_bound,
                         struct error *err) {
    if (op->attr.form == NORM_RELU_MAX_POOL)
        return norm_pool_bind(cpu, graph, op, addresses, ret_bound, err);
    return bind_as(cpu, graph, op, addresses, true, ret_bound, err);
}

static int bind_inference(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *ret_bound,
                          struct error *err) {
    return bind_as(cpu, graph, op, addresses, false, ret_bound, err);
}

const struct cpu_operator cpu_norm = {NULL, query_training, bind_training};
const struct cpu_operator cpu_norm_inference = {NULL, query, bind_inference};
