/* Gradient of norms with constant statistics. */
#include "trainer/backend/cpu/dense/norm.h"

#include <math.h>

struct frozen {
    struct cpu_step step;
    struct frozen_backward backward;
    size_t rows;
    double epsilon;
    /* of the norm, and of the one of the side input */
    const float *gamma[2], *variance[2];
    float *scale[2]; /* in scratch */
};

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)cpu;
    (void)err;
    ret_needs->scratch = 2 * norm_row_bytes(cpu_channels(&cpu_input(graph, op, 0)->shape));
    ret_needs->in_place = true;
    return 0;
}

static void backward_share(void *context, struct share share) {
    const struct frozen *f = context;
    size_t begin, end;
    share_range(share, f->rows, 1, &begin, &end);
    f->step.cpu->loops->frozen_backward(&f->backward, begin, end);
}

/* Factors cost no more than one row, so each step makes them anew. The second norm is there only if
 * the side input has one. */
static int run(void *context, struct error *err) {
    (void)err;
    struct frozen *f = context;
    for (int i = 0; i < 2 && f->gamma[i] != NULL; i++)
        for (size_t c = 0; c < f->backward.channels; c++)
            f->scale[i][c] =
                (float)((double)f->gamma[i][c] / sqrt((double)f->variance[i][c] + f->epsilon));
    parallel_run(f->step.cpu->threads, backward_share, f);
    return 0;
}

/* Without a second norm the side input's gradient is the masked dy itself. */
static int bind_frozen(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *ret_bound,
                       struct error *err) {
    const struct tensor *dy = cpu_input(graph, op, FROZEN_GRAD_DY);
    size_t channels = cpu_channels(&dy->shape);
    struct frozen *f = cpu_step_new(cpu, sizeof *f, run, NULL, ret_bound, err);
    if (f == NULL)
        return -1;
    f->rows = cpu_rows(&dy->shape);
    f->epsilon = op->attr.epsilon;
    for (int i = 0; i < 2; i++) {
        f->gamma[i] = addresses->inputs[i == 0 ? FROZEN_GRAD_GAMMA : FROZEN_GRAD_GAMMA2];
        f->variance[i] = addresses->inputs[i == 0 ? FROZEN_GRAD_VARIANCE : FROZEN_GRAD_VARIANCE2];
        f->scale[i] =
            (float *)(void *)((char *)addresses->scratch + norm_row_bytes(channels) * (size_t)i);
    }
    f->backward = (struct frozen_backward){.elem = cpu_elem(dy->dtype),
                                           .channels = channels,
                                           .dy = addresses->inputs[FROZEN_GRAD_DY],
                                           .y = addresses->inputs[FROZEN_GRAD_Y],
                                           .scale = f->scale[0],
                                           .side_scale = f->gamma[1] == NULL ? NULL : f->scale[1],
                                           .dx = addresses->outputs[FROZEN_GRAD_DX],
                                           .dside = addresses->outputs[FROZEN_GRAD_DSIDE]};
    return 0;
}

const struct cpu_operator cpu_frozen_norm_grad = {NULL, query, bind_frozen};
