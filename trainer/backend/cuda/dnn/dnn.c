#include "trainer/backend/cuda/dnn/dnn.h"

/* cuDNN's backend interface has one type of handle for everything, a descriptor, and reports
 * failures as codes plus a text of the last error. These functions add the two things that callers
 * need: ownership by pools, and errors that name what failed. */

/* In the reverse order of creation, since later descriptors refer to earlier ones. */
void dnn_pool_done(struct dnn_pool *pool) {
    while (pool->count > 0)
        (void)cudnnBackendDestroyDescriptor(pool->items[--pool->count]);
}

/* Does nothing if FROM does not own DESC. */
void dnn_pool_move(struct dnn_pool *from, struct dnn_pool *to, cudnnBackendDescriptor_t desc) {
    int at = 0;
    while (at < from->count && from->items[at] != desc)
        at++;
    if (at == from->count)
        return;
    from->items[at] = from->items[--from->count];
    to->items[to->count++] = desc;
}

/* The detail is empty if cuDNN has nothing to add to its code. */
int dnn_error(cudnnStatus_t status, const char *what, struct error *err) {
    char detail[256] = "";
    cudnnGetLastErrorString(detail, sizeof(detail));
    return error_set(err, EXIT_CODE_DEVICE, "cuDNN: %s: %s%s%s", what, cudnnGetErrorString(status),
                     detail[0] != '\0' ? ": " : "", detail);
}

/* The ceiling guards against a graph that grows without notice. */
int dnn_new(struct dnn_pool *pool, cudnnBackendDescriptorType_t type, const char *what,
            cudnnBackendDescriptor_t *ret, struct error *err) {
    if (pool->count == DNN_POOL_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "cuDNN: more than %d descriptors", DNN_POOL_MAX);
    cudnnBackendDescriptor_t desc = NULL;
    cudnnStatus_t status = cudnnBackendCreateDescriptor(type, &desc);
    if (status != CUDNN_STATUS_SUCCESS)
        return dnn_error(status, what, err);
    pool->items[pool->count++] = desc;
    *ret = desc;
    return 0;
}

int dnn_set(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
            cudnnBackendAttributeType_t type, int64_t count, const void *values,
            struct error *err) {
    cudnnStatus_t status = cudnnBackendSetAttribute(desc, name, type, count, values);
    if (status == CUDNN_STATUS_SUCCESS)
        return 0;
    (void)dnn_error(status, "attribute", err);
    return error_wrap(err, "attribute %d", (int)name);
}

int dnn_set_desc(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                 cudnnBackendDescriptor_t value, struct error *err) {
    return dnn_set(desc, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, err);
}

int dnn_set_int(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name, int64_t value,
                struct error *err) {
    return dnn_set(desc, name, CUDNN_TYPE_INT64, 1, &value, err);
}

int dnn_finalize(cudnnBackendDescriptor_t desc, const char *what, struct error *err) {
    cudnnStatus_t status = cudnnBackendFinalize(desc);
    return status == CUDNN_STATUS_SUCCESS ? 0 : dnn_error(status, what, err);
}
