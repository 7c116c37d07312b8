#include "trainer/backend/cuda/dnn/dnn_device.h"

#include "common/buf.h"
#include "common/file/file.h"

#include <stdio.h>

/* A device is a descriptor of properties. For a GPU of this host cuDNN fills it from the driver;
 * for a described one it is read from JSON, so that plans can be finalized without that GPU. Only
 * the first kind gets a handle, later, by convs_open(). */

enum { DESCRIPTION_MAX = 65536 };

void dnn_device_done(struct dnn_device *device) {
    dnn_pool_done(&device->pool);
    *device = (struct dnn_device){0};
}

int dnn_device_open(struct dnn_device *device, int ordinal, const char *name, struct error *err) {
    *device = (struct dnn_device){0};
    snprintf(device->name, sizeof(device->name), "%s", name);
    int32_t id = ordinal;
    if (dnn_new(&device->pool, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device properties",
                &device->properties, err) != 0 ||
        dnn_set(device->properties, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &id,
                err) != 0)
        return -1;
    return dnn_finalize(device->properties, "device properties", err);
}

/* The name is the path, which also keeps the plan cache's keys apart. The text includes its
 * terminating zero, as cuDNN expects. */
int dnn_device_read(struct dnn_device *device, const char *path, struct error *err) {
    *device = (struct dnn_device){0};
    snprintf(device->name, sizeof(device->name), "%s", path);
    cleanup_buf struct buf text;
    buf_init(&text, DESCRIPTION_MAX);
    if (file_read(path, &text, err) != 0)
        return -1;
    if (dnn_new(&device->pool, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device properties",
                &device->properties, err) != 0 ||
        dnn_set(device->properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                (int64_t)text.size + 1, buf_text(&text), err) != 0 ||
        dnn_finalize(device->properties, "device properties", err) != 0)
        return error_wrap(err, "%s", path);
    return 0;
}
