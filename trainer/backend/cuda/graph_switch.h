/* Steps that choose among bodies while a recording runs: a switch node of CUDA's graphs, in which
 * every body is recorded, and a kernel in front of it that says which one runs. The host does not
 * take part, so that a count may come out of the step itself. Off unless asked for: no device has
 * run it yet. */
#ifndef TRAINER_BACKEND_CUDA_GRAPH_SWITCH_H
#define TRAINER_BACKEND_CUDA_GRAPH_SWITCH_H

#include "trainer/backend/cuda/base/context.h"

/* Adds a switch node to what CUDA's selected lane records. Where it records nothing, enqueues the
 * last body: all rows. */
cuda_switch cuda_graph_switch_node;

/* Whether WANTED asks for it on a GPU of this NAME. CUDA_OWN_AUTO takes it where it was measured to
 * be faster: base/tuned_gpus.h. ON is an error with EXIT_CODE_DEVICE where DETERMINISTIC steps
 * are wanted, as the step in front of the recording computes all rows, by other kernels. */
int cuda_graph_switch_wanted(enum cuda_own wanted, const char *name, bool deterministic,
                             bool *ret_wanted, struct error *err);

/* What becomes of it: ON is an error, too, where this build or the driver has no such nodes. */
int cuda_graph_switch_choose(enum cuda_own wanted, const char *name, bool deterministic,
                             cuda_switch **ret_choose, struct error *err);

#endif
