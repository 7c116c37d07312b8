#include "trainer/backend/cuda/dnn/convs.h"

#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/dnn/fusion_autotune.h"

#include <stdio.h>
#include <stdlib.h>

/* What the rest of the backend sees of cuDNN: opening, the stream of its handle, the question
 * whether a convolution is supported, and versions. A build without cuDNN has no_cudnn.c in place
 * of this file. */

/* Zeros and ones per channel stand for the operands of a norm that is not there (conv_table.c). */
static int open_constants(struct cuda *cuda, struct convs *convs, struct error *err) {
    static float values[2 * CONV_CHANNELS_MAX];
    for (int i = 0; i < CONV_CHANNELS_MAX; i++)
        values[CONV_CHANNELS_MAX + i] = 1;
    cudaError_t status = cudaMalloc((void **)&convs->zeros, sizeof(values));
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(convs->zeros, values, sizeof(values), cudaMemcpyHostToDevice,
                                 cuda->stream);
    convs->ones = convs->zeros + CONV_CHANNELS_MAX;
    return status == cudaSuccess ? 0 : cuda_error(status, "constants for convolutions", err);
}

/* On failure CUDA->convs is half-open, and the caller's close frees it. */
int convs_open(struct cuda *cuda, const char *name, struct error *err) {
    struct convs *convs = calloc(1, sizeof(*convs));
    if (convs == NULL)
        return error_no_memory(err, "convolutions");
    cuda->convs = convs;
    cudnnStatus_t status = cudnnCreate(&convs->dnn);
    if (status != CUDNN_STATUS_SUCCESS)
        return dnn_error(status, "opening", err);
    if (convs_stream(cuda, err) != 0)
        return -1;
    if (dnn_device_open(&convs->device, cuda->ordinal, name, err) != 0)
        return -1;
    convs->device.handle = convs->dnn;
    return open_constants(cuda, convs, err);
}

/* Its constants are never read: any address will do. */
int convs_describe(struct cuda *cuda, const char *path, struct error *err) {
    struct convs *convs = calloc(1, sizeof(*convs));
    if (convs == NULL)
        return error_no_memory(err, "convolutions");
    cuda->convs = convs;
    if (dnn_device_read(&convs->device, path, err) != 0)
        return -1;
    convs->zeros = calloc((size_t)2 * CONV_CHANNELS_MAX, sizeof(float));
    if (convs->zeros == NULL)
        return error_no_memory(err, "constants for convolutions");
    convs->ones = convs->zeros + CONV_CHANNELS_MAX;
    return 0;
}

int convs_stream(struct cuda *cuda, struct error *err) {
    cudnnStatus_t status = cudnnSetStream(cuda->convs->dnn, cuda->stream);
    return status == CUDNN_STATUS_SUCCESS ? 0 : dnn_error(status, "choosing a stream", err);
}

void convs_close(struct convs *convs) {
    if (convs == NULL)
        return;
    conv_choices_done(convs);
    dnn_device_done(&convs->device);
    if (convs->dnn == NULL) {
        free(convs->zeros);
    } else {
        (void)cudaFree(convs->zeros);
        (void)cudnnDestroy(convs->dnn);
    }
    free(convs);
}

bool convs_support(struct cuda *cuda, const struct graph *graph, const struct op *op) {
    const struct conv_table *form = conv_table(op);
    if (form == NULL)
        return !conv_table_is_conv(op);
    if (form->pattern <= DNN_GRAD_WEIGHT)
        return true;
    struct dnn_conv conv = conv_table_shape(form, graph, op);
    struct conv_choice *choice = NULL;
    /* Caches the choices on which the answer is based. */
    return dnn_pattern_applies(form->pattern, &conv) && conv.in_channels <= CONV_CHANNELS_MAX &&
           conv_choice_get(cuda, form->pattern, graph->dtype, &conv, &choice, NULL) == 0 &&
           (!cuda->options.decide || fusion_autotune(cuda, choice));
}

static const char *version_text(char *text, size_t size, size_t version) {
    (void)snprintf(text, size, "cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100,
                   version % 100);
    return text;
}

const char *convs_text(void) {
    static char text[32];
    return version_text(text, sizeof(text), CUDNN_VERSION);
}

const char *convs_loaded(void) {
    static char text[32];
    return version_text(text, sizeof(text), cudnnGetVersion());
}
