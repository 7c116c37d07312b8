/* Execution plans for an operation graph: the engines that the heuristics offer, those that
 * finalize, and their needs. */
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
    bool rounds; /* f32 loses bits: TF32, Winograd and the like */
};

struct dnn_plan_list {
    struct dnn_plan plans[DNN_PLANS_MAX];
    int count;
    int needs_driver; /* runtime-compiled engines that cannot be finalized for a described device */
};

struct dnn_plan_query {
    const struct dnn_device *device;
    int64_t workspace_max; /* plans that need more are left out */
    int most;              /* stop after this many; at most DNN_PLANS_MAX */
    bool precompiled;      /* leave out engines that must be compiled first, up to a second per
                            * plan */
    bool deterministic;    /* leave out engines that may give different bits in another run */
    bool exact;            /* leave out engines that round f32 */
};

/* Fills LIST in the heuristics' order (mode A, then the fallback list). If there is no plan, count
 * is 0, without an error. */
int dnn_plan_list_find(struct dnn_plan_list *list, const struct dnn_graph *graph,
                       const struct dnn_plan_query *query, struct error *err);
void dnn_plan_list_done(struct dnn_plan_list *list);

/* Variant pack: the addresses for a graph's tensor ids, bound once, and the execution of a plan
 * with them. */
struct dnn_pack {
    struct dnn_pool pool;
    cudnnBackendDescriptor_t pack;
};

/* COUNT ids with their addresses in device memory; WORKSPACE may be NULL if none is needed. */
int dnn_pack_init(struct dnn_pack *pack, const int64_t *ids, void *const *addresses, int count,
                  void *workspace, struct error *err);
void dnn_pack_done(struct dnn_pack *pack);
/* Enqueues on HANDLE's stream. */
int dnn_pack_run(const struct dnn_pack *pack, cudnnHandle_t handle, const struct dnn_plan *plan,
                 struct error *err);

#endif
