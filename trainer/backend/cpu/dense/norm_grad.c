/* Gradients of batch norm and the operators fused with it: one pass masks the gradient by the ReLU
 * and sums, one computes dx (and the other norm's). The mask is recomputed from the forward input
 * where that is read anyway; in a join it comes from the forward output. */
#include "trainer/backend/cpu/dense/norm.h"

/* Three forms share the passes. Plain and with a ReLU, the second pass recomputes the mask. A dual
 * join does so for both norms. A join with one norm writes the masked gradient, as its side needs
 * it anyway, and the second pass reads that instead of dy. */

struct grad_op {
    struct cpu_step step;
    size_t rows, channels;
    struct norm_grad_branch branch[2];
    int branches;
    struct norm_backward reduce, apply;
    char *scratch;
};

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    if (op->attr.form == NORM_RELU_MAX_POOL)
        return norm_pool_grad_query(cpu, graph, op, ret_needs);
    ret_needs->scratch =
        norm_grad_scratch(cpu, cpu_channels(&cpu_input(graph, op, NORM_GRAD_X)->shape));
    ret_needs->in_place = true;
    return 0;
}

static void add_rows(void *context, int thread, float *const *sum, size_t begin, size_t end) {
    (void)thread;
    const struct grad_op *grad = context;
    struct norm_grad_sums sums = {.dz = sum[0], .dz_x = sum[1], .dz_other = sum[2]};
    grad->step.cpu->loops->norm_backward_sums(&grad->reduce, &sums, begin, end);
}

static void apply_rows(void *context, struct share share) {
    const struct grad_op *grad = context;
    size_t begin, end, block;
    share_range(share, grad->rows, 1, &begin, &end);
    for (; block_backwards(begin, NORM_BLOCK_ROWS, &block, &end); end = block)
        grad->step.cpu->loops->norm_backward(&grad->apply, block, end);
}

static int run(void *context, struct error *err) {
    (void)err;
    struct grad_op *grad = context;
    const struct cpu *cpu = grad->step.cpu;
    struct reduce reduce = {.cpu = cpu,
                            .rows = grad->rows,
                            .block = REDUCE_ROWS,
                            .channels = grad->channels,
                            .sums = 1 + grad->branches,
                            .add = add_rows,
                            .context = grad,
                            .scratch = grad->scratch};
    norm_grad_reduce(&reduce, grad->rows, grad->branch, grad->branches);
    if (grad->apply.dx != NULL)
        parallel_run(cpu->threads, apply_rows, grad);
    return 0;
}

static struct norm_grad_branch branch_at(const struct op_addresses *addresses, int index) {
    int in = index == 0 ? NORM_GRAD_GAMMA : NORM_GRAD_GAMMA2;
    int out = index == 0 ? NORM_GRAD_DGAMMA : NORM_GRAD_DGAMMA2;
    return (struct norm_grad_branch){.gamma = addresses->inputs[in],
                                     .beta = addresses->inputs[in + 1],
                                     .mean = addresses->inputs[in + 2],
                                     .invstd = addresses->inputs[in + 3],
                                     .dgamma = addresses->outputs[out],
                                     .dbeta = addresses->outputs[out + 1]};
}

/* Inputs of both passes, common to all kinds. */
static struct norm_backward common_form(const struct grad_op *grad, enum elem elem,
                                        const struct op_addresses *addresses) {
    return (struct norm_backward){.elem = elem,
                                  .channels = grad->channels,
                                  .dy = addresses->inputs[NORM_GRAD_DY],
                                  .dy2 = addresses->inputs[NORM_GRAD_DY2],
                                  .x = addresses->inputs[NORM_GRAD_X],
                                  .scale = grad->branch[0].scale,
                                  .shift = grad->branch[0].shift,
                                  .mean = grad->branch[0].mean,
                                  .a = grad->branch[0].a,
                                  .b = grad->branch[0].b,
                                  .c = grad->branch[0].c};
}

static void form_dual(struct grad_op *grad, const struct op_addresses *addresses) {
    struct norm_backward *form = &grad->reduce;
    form->relu = true;
    form->other = addresses->inputs[NORM_GRAD_SIDE];
    form->other_scale = grad->branch[1].scale;
    form->other_shift = grad->branch[1].shift;
    form->other_mean = grad->branch[1].mean;
    form->other_a = grad->branch[1].a;
    form->other_b = grad->branch[1].b;
    form->other_c = grad->branch[1].c;
    grad->apply = *form;
    grad->apply.dother = addresses->outputs[NORM_GRAD_DSIDE];
}

/* If the side's gradient is not wanted, the second pass masks again. */
static void form_join(struct grad_op *grad, const struct op_addresses *addresses) {
    grad->reduce.relu = true;
    grad->reduce.y = addresses->inputs[NORM_GRAD_Y];
    grad->reduce.dz = addresses->outputs[NORM_GRAD_DSIDE];
    grad->apply = grad->reduce;
    grad->apply.dz = NULL;
    if (grad->reduce.dz == NULL)
        return;
    grad->apply.dy = grad->reduce.dz;
    grad->apply.dy2 = NULL;
    grad->apply.relu = false;
}

static int bind_grad(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    if (op->attr.form == NORM_RELU_MAX_POOL)
        return norm_pool_grad_bind(cpu, graph, op, addresses, ret_bound, err);
    struct grad_op *grad = cpu_step_new(cpu, sizeof *grad, run, NULL, ret_bound, err);
    if (grad == NULL)
        return -1;
    const struct tensor *x = cpu_input(graph, op, NORM_GRAD_X);
    grad->rows = cpu_rows(&x->shape);
    grad->channels = cpu_channels(&x->shape);
    grad->scratch = addresses->scratch;
    grad->branches = op->attr.form == NORM_DUAL_ADD_RELU ? 2 : 1;
    for (int i = 0; i < grad->branches; i++) {
        grad->branch[i] = branch_at(addresses, i);
        norm_grad_place(cpu, grad->channels, addresses->scratch, i, &grad->branch[i]);
    }
    grad->reduce = common_form(grad, cpu_elem(x->dtype), addresses);
    if (op->attr.form == NORM_DUAL_ADD_RELU) {
        form_dual(grad, addresses);
    } else if (op->attr.form == NORM_ADD_RELU) {
        form_join(grad, addresses);
    } else {
        grad->reduce.relu = op->attr.form == NORM_RELU;
        grad->apply = grad->reduce;
    }
    grad->apply.dx = addresses->outputs[NORM_GRAD_DX];
    return 0;
}

const struct cpu_operator cpu_norm_grad = {NULL, query, bind_grad};
