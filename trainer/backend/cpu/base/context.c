#include "trainer/backend/cpu/base/context.h"

int cpu_query_in_place(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)graph;
    (void)op;
    (void)err;
    ret_needs->in_place = true;
    return 0;
}

void *cpu_step_new(const struct cpu *cpu, size_t bytes,
                   int (*run)(void *context, struct error *err), void (*done)(void *context),
                   struct backend_bound *ret_bound, struct error *err) {
    struct cpu_step *step = calloc(1, bytes);
    if (step == NULL) {
        (void)error_no_memory(err, "a bound operator");
        return NULL;
    }
    step->cpu = cpu;
    step->done = done;
    ret_bound->step = (struct bound_step){.run = run, .context = step};
    return step;
}

void cpu_step_release(void *context) {
    struct cpu_step *step = context;
    if (step == NULL)
        return;
    if (step->done != NULL)
        step->done(step);
    free(step);
}
