/* Choice among bodies while a recording runs: a switch node of CUDA graphs, in which every body is
 * recorded, preceded by a kernel that selects one. The host is not involved, so a count may be
 * computed within the step itself. Off unless requested: no device has run it yet. */
#ifndef TRAINER_BACKEND_CUDA_OPTIONAL_GRAPH_SWITCH_H
#define TRAINER_BACKEND_CUDA_OPTIONAL_GRAPH_SWITCH_H

#include "trainer/backend/cuda/base/context.h"

/* Adds a switch node to the recording of CUDA's selected stream. Without a recording, enqueues the
 * last body: all rows. */
cuda_switch cuda_graph_switch_node;

/* Returns true if WANTED requests it on a GPU of this NAME. CUDA_OWN_AUTO uses it if it was
 * measured to be faster: optional/tuned_gpus.h. ON is an error with EXIT_CODE_DEVICE if
 * DETERMINISTIC steps are requested, because the step before the recording computes all rows, with
 * other kernels. */
int cuda_graph_switch_wanted(enum cuda_own wanted, const char *name, bool deterministic,
                             bool *ret_wanted, struct error *err);

/* The same, and ON is also an error if this build or the driver has no such nodes. */
int cuda_graph_switch_choose(enum cuda_own wanted, const char *name, bool deterministic,
                             cuda_switch **ret_choose, struct error *err);

#endif
