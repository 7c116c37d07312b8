/* Thin layer over cuDNN's backend descriptors: each call is checked, and a failure becomes a
 * struct error that names descriptor, attribute and cuDNN's own reason.
 *
 * Descriptors belong to a struct dnn_pool, which frees them all at once; an operation graph
 * consists of a few dozen. No handle and no GPU are needed: devices can be described
 * (dnn_device.h). */
#ifndef TRAINER_BACKEND_CUDA_DNN_DNN_H
#define TRAINER_BACKEND_CUDA_DNN_DNN_H

#include "common/error.h"

#include <cudnn.h>
#include <stdint.h>

enum { DNN_POOL_MAX = 96 };

struct dnn_pool {
    cudnnBackendDescriptor_t items[DNN_POOL_MAX];
    int count;
};

void dnn_pool_done(struct dnn_pool *pool);
/* Transfers the ownership of DESC from FROM to TO, which must have space. */
void dnn_pool_move(struct dnn_pool *from, struct dnn_pool *to, cudnnBackendDescriptor_t desc);

/* Makes a new descriptor of TYPE, owned by POOL. WHAT names it in errors. */
int dnn_new(struct dnn_pool *pool, cudnnBackendDescriptorType_t type, const char *what,
            cudnnBackendDescriptor_t *ret, struct error *err);
int dnn_set(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
            cudnnBackendAttributeType_t type, int64_t count, const void *values, struct error *err);
int dnn_set_desc(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name,
                 cudnnBackendDescriptor_t value, struct error *err);
int dnn_set_int(cudnnBackendDescriptor_t desc, cudnnBackendAttributeName_t name, int64_t value,
                struct error *err);
int dnn_finalize(cudnnBackendDescriptor_t desc, const char *what, struct error *err);

/* Fills ERR from STATUS and cuDNN's last error text; returns -1. */
int dnn_error(cudnnStatus_t status, const char *what, struct error *err);

#endif
