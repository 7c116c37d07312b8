/* Constants of an ONNX graph, as initializers. */
#ifndef TRAINER_EXPORT_ONNX_CONSTANT_H
#define TRAINER_EXPORT_ONNX_CONSTANT_H

#include "common/buf.h"
#include "common/error.h"

/* Appends COUNT f32 under NAME to OUT, the fields of a GraphProto. DIMS 0: a scalar; 4: shape
 * [1, COUNT, 1, 1]. */
int onnx_constant_add(struct buf *out, const char *name, const float *values, int count, int dims,
                      struct error *err);

#endif
