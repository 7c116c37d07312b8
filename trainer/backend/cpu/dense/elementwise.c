/* Elementwise functions of math/pointwise.h. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"

struct pointwise_op {
    struct cpu_step step;
    enum pointwise function;
    enum elem elem;
    size_t count;
    const void *a, *b;
    void *y;
};

/* Each thread gets whole cache lines. */
enum { GRAIN = 64 };

static void pointwise_share(void *context, struct share share) {
    const struct pointwise_op *op = context;
    size_t begin, end;
    share_range(share, op->count, GRAIN, &begin, &end);
    op->step.cpu->loops->pointwise(op->function, op->a, op->b, op->elem, op->y, begin, end);
}

static int run_pointwise(void *context, struct error *err) {
    (void)err;
    struct pointwise_op *op = context;
    parallel_run(op->step.cpu->threads, pointwise_share, op);
    return 0;
}

static int bind_pointwise(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *ret_bound,
                          struct error *err) {
    struct pointwise_op *bound =
        cpu_step_new(cpu, sizeof *bound, run_pointwise, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *y = cpu_output(graph, op, 0);
    bound->function = op_pointwise(op->kind);
    bound->elem = cpu_elem(y->dtype);
    bound->count = (size_t)tensor_count(y);
    bound->a = addresses->inputs[0];
    bound->b = addresses->inputs[1];
    bound->y = addresses->outputs[0];
    return 0;
}

const struct cpu_operator cpu_pointwise = {NULL, cpu_query_in_place, bind_pointwise};
