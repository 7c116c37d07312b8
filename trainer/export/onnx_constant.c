#include "trainer/export/onnx_constant.h"

#include "common/binary/protobuf.h"
#include "common/cleanup.h"
#include "trainer/export/onnx_fields.h"

enum { HEAD_MAX = 4096 };

int onnx_constant_add(struct buf *out, const char *name, const float *values, int count, int dims,
                      struct error *err) {
    cleanup_buf struct buf tensor;
    buf_init(&tensor, HEAD_MAX);
    /* [1, count, 1, 1] */
    for (int i = 0; i < dims; i++)
        if (protobuf_add_varint(&tensor, ONNX_TENSOR_DIMS, i == 1 ? (uint64_t)count : 1, err) != 0)
            return -1;
    return protobuf_add_varint(&tensor, ONNX_TENSOR_DATA_TYPE, ONNX_F32, err) != 0 ||
                   protobuf_add_text(&tensor, ONNX_TENSOR_NAME, name, err) != 0 ||
                   protobuf_add_bytes(&tensor, ONNX_TENSOR_RAW_DATA, values,
                                      (size_t)count * sizeof(*values), err) != 0
               ? -1
               : protobuf_add_message(out, ONNX_GRAPH_INITIALIZER, &tensor, err);
}
