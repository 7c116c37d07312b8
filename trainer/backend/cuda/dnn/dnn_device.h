/* Device description for cuDNN: its device properties as JSON. With one, plans of precompiled
 * kernels finalize on a machine without a GPU, so that a build can be checked for an H100 or an
 * A100 without having one. */
#ifndef TRAINER_BACKEND_CUDA_DNN_DNN_DEVICE_H
#define TRAINER_BACKEND_CUDA_DNN_DNN_DEVICE_H

#include "trainer/backend/cuda/dnn/dnn.h"

struct dnn_device {
    char name[256];
    struct dnn_pool pool;
    cudnnBackendDescriptor_t properties;
    cudnnHandle_t handle; /* set by the code that opened the device; NULL for a description */
};

/* Reads the JSON file PATH (members are cuDNN's own, see devices/). */
int dnn_device_read(struct dnn_device *device, const char *path, struct error *err);
/* Opens GPU number ORDINAL of this host, named NAME. */
int dnn_device_open(struct dnn_device *device, int ordinal, const char *name, struct error *err);
void dnn_device_done(struct dnn_device *device);

#endif
