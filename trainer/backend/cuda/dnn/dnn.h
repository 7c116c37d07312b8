/* A thin layer over cuDNN's backend descriptors: each call checked, each failure turned into a
 * struct error that says which descriptor, which attribute and cuDNN's own reason.
 *
 * Descriptors belong to a struct dnn_pool, which frees them all at once; an operation graph is a
 * few dozen of them. No handle and no GPU are needed: devices are described (dnn_device.h). */
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
/* DESC of FROM is TO's from here on; TO must have room. */
void dnn_pool_move(struct dnn_pool *from, struct dnn_pool *to, cudnnBackendDescriptor_t desc);

/* A new descriptor of TYPE, owned by POOL. WHAT names it in errors. */
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
