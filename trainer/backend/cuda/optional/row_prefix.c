#include "trainer/backend/cuda/optional/row_prefix.h"

#include "trainer/graph/row_prefix.h"

/* Every fraction of the rows is an operator of its own, bound with the same addresses and fewer
 * rows. In a recorded step the choice among them is a node of the recording
 * (optional/graph_switch.c); unrecorded, it is always the last one, all rows. base/row_prefix.c of
 * backend/cpu has the same idea with a plain loop. */

/* All fractions must be supported and queried without an error; otherwise the whole operator is
 * bound as usual. */
bool cuda_row_prefix_has(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                         const struct graph *graph, const struct op *op) {
    const int64_t capacity = row_prefix_capacity(graph, op);
    bool has = cuda->choose != NULL && capacity > 1;
    for (int i = 0; i < ROW_PARTS && has; i++) {
        struct row_prefix part;
        struct backend_needs needs = {0};
        row_prefix_make(&part, graph, op, row_prefix_rows(capacity, i));
        has = of->supports(&cuda->base, &part.graph, &part.op) &&
              of->query(&cuda->base, &part.graph, &part.op, &needs, NULL) == 0;
    }
    return has;
}

int cuda_row_prefix_query(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                          const struct graph *graph, const struct op *op,
                          struct backend_needs *ret_needs, struct error *err) {
    const int64_t capacity = row_prefix_capacity(graph, op);
    for (int i = 0; i < ROW_PARTS; i++) {
        struct row_prefix part;
        struct backend_needs needs = {0};
        row_prefix_make(&part, graph, op, row_prefix_rows(capacity, i));
        if (of->query(&cuda->base, &part.graph, &part.op, &needs, err) != 0)
            return -1;
        backend_needs_most(ret_needs, &needs);
    }
    return 0;
}

/* `bound` has one step for each fraction, owned by this one. */
struct rows_step {
    struct cuda_step step;
    const struct cuda_row_prefix_of *of;
    struct switch_choice choice;
    struct backend_bound bound[ROW_PARTS];
};

static int run(void *context, struct error *err) {
    struct rows_step *s = context;
    struct bound_step bodies[ROW_PARTS];
    for (int i = 0; i < ROW_PARTS; i++)
        bodies[i] = s->bound[i].step;
    return s->step.cuda->choose(s->step.cuda, &s->choice, bodies, err);
}

/* Steps that were not bound, after a failure, are skipped. */
static void done(struct cuda_step *step) {
    struct rows_step *s = (struct rows_step *)step;
    for (int i = 0; i < ROW_PARTS; i++)
        if (s->bound[i].step.context != NULL)
            s->of->release(&step->cuda->base, s->bound[i].step.context);
}

int cuda_row_prefix_bind(struct cuda *cuda, const struct cuda_row_prefix_of *of,
                         const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *ret_bound,
                         struct error *err) {
    const int64_t capacity = row_prefix_capacity(graph, op);
    struct rows_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    s->step.done = done;
    s->of = of;
    s->choice.count = addresses->rows;
    ret_bound->step = (struct bound_step){run, s};
    for (int i = 0; i < ROW_PARTS; i++) {
        struct row_prefix part;
        row_prefix_make(&part, graph, op, row_prefix_rows(capacity, i));
        s->choice.rows[i] = (int32_t)row_prefix_rows(capacity, i);
        if (of->bind(&cuda->base, &part.graph, &part.op, addresses, &s->bound[i], err) != 0)
            return -1;
    }
    /* Packed weights do not depend on the number of rows. */
    ret_bound->refresh = s->bound[ROW_PARTS - 1].refresh;
    return 0;
}
