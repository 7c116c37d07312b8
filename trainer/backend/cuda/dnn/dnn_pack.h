/* Variant pack: the addresses for a graph's tensor ids, bound once, and the execution of a plan
 * with them. */
#ifndef TRAINER_BACKEND_CUDA_DNN_DNN_PACK_H
#define TRAINER_BACKEND_CUDA_DNN_DNN_PACK_H

#include "trainer/backend/cuda/dnn/dnn_plan.h"

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
