/* Addition of an upsampled feature map to one of twice its sides, and its gradient. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"

struct upsample {
    struct cpu_step step;
    enum elem elem;
    size_t rows, width, channels; /* of the smaller map, rows over all pictures */
    const void *large, *small;
    void *result;
};

/* Two rows of the large map take the same row of the small one. */
static void add_share(void *context, struct share share) {
    const struct upsample *u = context;
    size_t begin, end, line = 2 * u->width * u->channels * elem_size(u->elem);
    share_range(share, 2 * u->rows, 1, &begin, &end);
    for (size_t row = begin; row < end; row++)
        u->step.cpu->loops->upsample_add((const char *)u->large + row * line,
                                         (const char *)u->small + row / 2 * (line / 2), u->elem,
                                         u->width, u->channels, (char *)u->result + row * line);
}

/* Shares are rows of the small map, so threads write apart from each other. */
static void grad_share(void *context, struct share share) {
    const struct upsample *u = context;
    size_t begin, end, line = 2 * u->width * u->channels * elem_size(u->elem);
    share_range(share, u->rows, 1, &begin, &end);
    for (size_t row = begin; row < end; row++) {
        const char *first = (const char *)u->large + 2 * row * line;
        u->step.cpu->loops->upsample_grad(first, first + line, u->elem, u->width, u->channels,
                                          (char *)u->result + row * (line / 2));
    }
}

static int run_add(void *context, struct error *err) {
    (void)err;
    struct upsample *u = context;
    parallel_run(u->step.cpu->threads, add_share, u);
    return 0;
}

static int run_grad(void *context, struct error *err) {
    (void)err;
    struct upsample *u = context;
    parallel_run(u->step.cpu->threads, grad_share, u);
    return 0;
}

static int bind_upsample(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *ret_bound,
                         struct error *err) {
    bool add = op->kind == OP_UPSAMPLE_ADD;
    const struct tensor *small = add ? cpu_input(graph, op, 1) : cpu_output(graph, op, 0);
    struct upsample *u =
        cpu_step_new(cpu, sizeof *u, add ? run_add : run_grad, NULL, ret_bound, err);
    if (u == NULL)
        return -1;
    u->elem = cpu_elem(small->dtype);
    u->rows = (size_t)(small->shape.dim[0] * small->shape.dim[1]);
    u->width = (size_t)small->shape.dim[2];
    u->channels = cpu_channels(&small->shape);
    u->large = addresses->inputs[0];
    u->small = add ? addresses->inputs[1] : NULL;
    u->result = addresses->outputs[0];
    return 0;
}

const struct cpu_operator cpu_upsample_add = {NULL, cpu_query_in_place, bind_upsample};
const struct cpu_operator cpu_upsample_grad = {NULL, NULL, bind_upsample};
