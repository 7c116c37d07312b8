/* Writer of a network as ONNX: IR version 8, operators of opset 17, for any batch.
 *
 * The graph is that of an inference as a model describes it, before a compilation rewrites it.
 * Weights have torchvision's names and order of axes. Source: onnx.ai, "Open Neural Network
 * Exchange Intermediate Representation", and onnx.proto. */
#ifndef TRAINER_EXPORT_ONNX_H
#define TRAINER_EXPORT_ONNX_H

#include "common/error.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/graph/graph.h"

#include <stdbool.h>

/* A text that a reader finds in the model's metadata. */
struct onnx_note {
    const char *key, *value;
};

struct onnx_options {
    const char *name; /* of the network */
    /* Input of the model: `image`, u8 [batch, height, width, 3], RGB; or `input`, f32 [batch, 3,
     * height, width], normalized. */
    bool bytes;
    const struct onnx_note *notes;
    int note_count;
};

/* Replaces PATH. An operator without a row here is EXIT_CODE_USAGE and named. WEIGHTS has the
 * parameters and the running statistics. */
int onnx_write(const struct graph *graph, const struct safetensors *weights,
               const struct onnx_options *options, const char *path, struct error *err);

#endif
