/* Addition, ReLU and both, and the gradient of ReLU. */
#include "cpu/context.h"
#include "cpu/parallel.h"

struct pair_op {
    struct cpu_step step;
    enum elem elem;
    bool relu;
    size_t count;
    const void *a, *b;
    void *y;
};

/* Whole cache lines to a thread. */
enum { GRAIN = 64 };

static void add_share(void *context, struct share share) {
    const struct pair_op *op = context;
    size_t begin, end;
    share_range(share, op->count, GRAIN, &begin, &end);
    op->step.cpu->loops->add(op->a, op->b, op->elem, op->relu, op->y, begin, end);
}

static void grad_share(void *context, struct share share) {
    const struct pair_op *op = context;
    size_t begin, end;
    share_range(share, op->count, GRAIN, &begin, &end);
    op->step.cpu->loops->relu_grad(op->a, op->b, op->elem, op->y, begin, end);
}

static int run_add(void *context, struct error *err) {
    (void)err;
    struct pair_op *op = context;
    parallel_run(op->step.cpu->threads, add_share, op);
    return 0;
}

static int run_grad(void *context, struct error *err) {
    (void)err;
    struct pair_op *op = context;
    parallel_run(op->step.cpu->threads, grad_share, op);
    return 0;
}

static int bind_pair(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct backend_site *site, struct backend_bound *ret_bound,
                     struct error *err) {
    bool gradient = op->kind == OP_RELU_GRAD;
    struct pair_op *bound =
        cpu_step_new(cpu, sizeof *bound, gradient ? run_grad : run_add, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *y = cpu_output(graph, op, 0);
    bound->elem = cpu_elem(y->dtype);
    bound->relu = op->kind != OP_ADD;
    bound->count = (size_t)tensor_count(y);
    bound->a = site->inputs[0];
    bound->b = op->kind == OP_RELU ? NULL : site->inputs[1];
    bound->y = site->outputs[0];
    return 0;
}

const struct cpu_operator cpu_add = {NULL, cpu_query_in_place, bind_pair};
const struct cpu_operator cpu_relu = {NULL, cpu_query_in_place, bind_pair};
const struct cpu_operator cpu_add_relu = {NULL, cpu_query_in_place, bind_pair};
const struct cpu_operator cpu_relu_grad = {NULL, cpu_query_in_place, bind_pair};
