/* oneDNN's descriptors for a convolution or one of its gradients. Private to
 * trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_CONV_CONV_PLAN_H
#define TRAINER_BACKEND_CPU_CONV_CONV_PLAN_H

#include "trainer/backend/cpu/base/dnn.h"
#include "trainer/backend/cpu/conv/conv_kernel.h"

/* The descriptors of one convolution, and oneDNN's choices for the number of threads set by
 * parallel_set_threads(). */
struct conv_plan {
    dnnl_memory_desc_t x, w, y, master;
    dnnl_primitive_desc_t forward, desc; /* the same for a forward convolution */
    const_dnnl_memory_desc_t chosen;     /* of the weights; owned by desc */
    size_t scratchpad;                   /* bytes */
    bool packs;
};

/* Plans OP on tensors T: OP's, or with fewer images. PLAN must be zeroed; free it with
 * conv_plan_done(), also after an error. */
int conv_plan_make(struct conv_plan *plan, const struct cpu *cpu, const struct conv_tensors *t,
                   const struct op *op, struct error *err);
void conv_plan_done(struct conv_plan *plan);

/* oneDNN's description of a window from X to Y: `far` may be less than `near`, as the shape rule
 * drops what does not fill a window. */
struct conv_window {
    dnnl_dims_t stride, dilation, near, far;
};
struct conv_window conv_window_of(const struct op_window *window, const struct shape *x,
                                  const struct shape *y);
/* The channels of X that weights W read, of all groups; further ones are padding. */
int64_t conv_channels_read(const struct op_window *window, const struct shape *w);

#endif
