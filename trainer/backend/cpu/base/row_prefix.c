#include "trainer/backend/cpu/base/row_prefix.h"

#include "trainer/graph/row_prefix.h"

/* An operator of which only the first rows count is bound eight times, for fractions of its rows
 * (graph/row_prefix.h). A run reads the count, which an operator before it has written, and runs
 * the smallest fraction that contains it.
 *
 * The fractions share memory for packed weights, but may pack them differently, as a kernel is
 * chosen by shape. So weights are packed by the fraction that runs, if another one, or none since
 * the last change, has packed them. */

enum { BUCKETS = ROW_PARTS };

bool row_prefix_has(const struct graph *graph, const struct op *op) {
    return row_prefix_capacity(graph, op) > 1;
}

/* The most that any fraction needs. */
int row_prefix_query(const struct cpu_operator *row, const struct cpu *cpu,
                     const struct graph *graph, const struct op *op,
                     struct backend_needs *ret_needs, struct error *err) {
    const int64_t capacity = row_prefix_capacity(graph, op);
    for (int i = 0; i < BUCKETS && row->query != NULL; i++) {
        struct backend_needs needs = {0};
        struct row_prefix part;
        row_prefix_make(&part, graph, op, row_prefix_rows(capacity, i));
        if (row->query(cpu, &part.graph, &part.op, &needs, err) != 0)
            return -1;
        backend_needs_most(ret_needs, &needs);
    }
    return 0;
}

struct bucket_op {
    struct cpu_step step;
    const int32_t *count;
    int64_t rows[BUCKETS];
    struct backend_bound bound[BUCKETS];
    int packed; /* the fraction that has its weights packed, -1: stale */
};

static int run(void *context, struct error *err) {
    struct bucket_op *op = context;
    int bucket = 0;
    while (bucket < BUCKETS - 1 && op->rows[bucket] < *op->count)
        bucket++;
    const struct backend_bound *bound = &op->bound[bucket];
    if (bound->refresh.run != NULL && op->packed != bucket) {
        if (bound->refresh.run(bound->refresh.context, err) != 0)
            return -1;
        op->packed = bucket;
    }
    return bound->step.run(bound->step.context, err);
}

/* The fraction that will need them is not known yet. */
static int refresh(void *context, struct error *err) {
    (void)err;
    ((struct bucket_op *)context)->packed = -1;
    return 0;
}

/* Also after a failure half-way: releasing NULL is fine. */
static void done(void *context) {
    struct bucket_op *op = context;
    for (int i = 0; i < BUCKETS; i++)
        cpu_step_release(op->bound[i].step.context);
}

int row_prefix_bind(const struct cpu_operator *row, const struct cpu *cpu,
                    const struct graph *graph, const struct op *op,
                    const struct op_addresses *addresses, struct backend_bound *ret_bound,
                    struct error *err) {
    const int64_t capacity = row_prefix_capacity(graph, op);
    struct bucket_op *bound = cpu_step_new(cpu, sizeof *bound, run, done, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->count = addresses->rows;
    bound->packed = -1;
    for (int i = 0; i < BUCKETS; i++) {
        struct row_prefix part;
        bound->rows[i] = row_prefix_rows(capacity, i);
        row_prefix_make(&part, graph, op, bound->rows[i]);
        if (row->bind(cpu, &part.graph, &part.op, addresses, &bound->bound[i], err) != 0)
            return -1;
        if (bound->bound[i].refresh.run != NULL)
            ret_bound->refresh = (struct bound_step){.run = refresh, .context = bound};
    }
    return 0;
}
