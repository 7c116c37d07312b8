/* Execution plans for an operation graph: which engines the heuristics offer, which of them
 * finalize, what they need. */
#ifndef TRAINER_BACKEND_CUDA_DNN_DNN_PLAN_H
#define TRAINER_BACKEND_CUDA_DNN_DNN_PLAN_H

#include "trainer/backend/cuda/dnn/dnn_device.h"
#include "trainer/backend/cuda/dnn/dnn_graph.h"

enum { DNN_PLANS_MAX = 48 };

struct dnn_plan {
    struct dnn_pool pool; /* configuration, engine and plan */
    cudnnBackendDescriptor_t plan;
    int64_t engine;    /* cuDNN's global index of the engine */
    int64_t workspace; /* bytes */
    bool runtime_compiled;
    bool deterministic;
    bool rounds; /* f32 loses bits on the way: TF32, Winograd and the like */
};

struct dnn_plan_list {
    struct dnn_plan plans[DNN_PLANS_MAX];
    int count;
    int needs_driver; /* runtime-compiled engines that a described device cannot finalize */
};

struct dnn_plan_query {
    const struct dnn_device *device;
    int64_t workspace_max; /* plans that want more are left out */
    int most;              /* stop after this many; at most DNN_PLANS_MAX */
    bool precompiled;      /* leave out what has to be compiled first, up to a second a plan */
    bool deterministic;    /* leave out what may give other bits in another run */
    bool exact;            /* leave out what rounds f32 */
};

/* Fills LIST in the heuristics' order (mode A, then the fallback list). No plan is not an error:
 * count is 0 then. */
int dnn_plan_list_find(struct dnn_plan_list *list, const struct dnn_graph *graph,
                       const struct dnn_plan_query *query, struct error *err);
void dnn_plan_list_done(struct dnn_plan_list *list);

#endif
