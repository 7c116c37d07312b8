#include "trainer/backend/cuda/dnn/dnn_pack.h"

int dnn_pack_init(struct dnn_pack *pack, const int64_t *ids, void *const *addresses, int count,
                  void *workspace, struct error *err) {
    *pack = (struct dnn_pack){0};
    if (dnn_new(&pack->pool, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "operands", &pack->pack, err) !=
            0 ||
        dnn_set(pack->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids,
                err) != 0 ||
        dnn_set(pack->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
                (const void *)addresses, err) != 0 ||
        dnn_set(pack->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                (const void *)&workspace, err) != 0)
        return -1;
    return dnn_finalize(pack->pack, "operands", err);
}

void dnn_pack_done(struct dnn_pack *pack) {
    dnn_pool_done(&pack->pool);
    *pack = (struct dnn_pack){0};
}

int dnn_pack_run(const struct dnn_pack *pack, cudnnHandle_t handle, const struct dnn_plan *plan,
                 struct error *err) {
    cudnnStatus_t status = cudnnBackendExecute(handle, plan->plan, pack->pack);
    return status == CUDNN_STATUS_SUCCESS ? 0 : dnn_error(status, "running a plan", err);
}
