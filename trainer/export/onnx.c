#include "trainer/export/onnx.h"

#include "common/binary/protobuf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "trainer/export/onnx_fields.h"
#include "trainer/export/onnx_nodes.h"

#include <stdlib.h>
#include <string.h>

/* An ONNX file is one message of Protocol Buffers, in which each part is preceded by its length.
 * The lengths are therefore computed first (measure), and then everything is written in one pass:
 * the head, the nodes, and the weights, each read from the model's file when its turn comes. Memory
 * never holds more than the largest weight and the nodes.
 *
 * Fields may come in any order, and repeated fields are lists. So the parts of the graph are
 * appended to one buffer as they arise, and the weights follow as further fields of the same
 * message. onnx_fields.h has the numbers of the fields.
 *
 * The file appears under its name only when it is complete (file_publish_open). */

/* IR version 8 goes with opset 17. HEAD_MAX limits small messages, GRAPH_MAX nodes and notes; BATCH
 * stands for a dimension that has a name instead of a size. */
enum { IR_VERSION = 8, OPSET = 17, GRAPH_MAX = 64 * 1024 * 1024, HEAD_MAX = 4096, BATCH = -1 };

/* The largest message that readers of Protocol Buffers accept: they keep lengths in an int32. */
#define MODEL_BYTES_MAX ((uint64_t)INT32_MAX)

struct onnx {
    const struct graph *graph; /* borrowed, these three */
    const struct safetensors *weights;
    const struct onnx_options *options;
    struct buf model; /* fields of the ModelProto before its graph */
    struct buf parts; /* fields of the GraphProto without the weights */
    bool *used;       /* [tensors]: weights */
};

/* --- small messages --------------------------------------------------------------------------- */

/* Appends one dimension of a shape: a number, or "batch" for BATCH. */
static int add_dim(struct buf *shape, int64_t value, struct error *err) {
    cleanup_buf struct buf dim;
    buf_init(&dim, HEAD_MAX);
    return (value == BATCH ? protobuf_add_text(&dim, ONNX_DIM_PARAM, "batch", err)
                           : protobuf_add_varint(&dim, ONNX_DIM_VALUE, (uint64_t)value, err)) != 0
               ? -1
               : protobuf_add_message(shape, ONNX_SHAPE_DIM, &dim, err);
}

/* Adds a ValueInfoProto as FIELD of the graph: name, element type and shape, each a message within
 * the other. TYPE is that of the elements. */
static int add_value(struct buf *out, uint32_t field, const char *name, enum onnx_data_type type,
                     const int64_t *dims, int rank, struct error *err) {
    cleanup_buf struct buf shape;
    cleanup_buf struct buf tensor;
    cleanup_buf struct buf kind;
    cleanup_buf struct buf value;
    buf_init(&shape, HEAD_MAX);
    buf_init(&tensor, HEAD_MAX);
    buf_init(&kind, HEAD_MAX);
    buf_init(&value, HEAD_MAX);
    for (int i = 0; i < rank; i++)
        if (add_dim(&shape, dims[i], err) != 0)
            return -1;
    return protobuf_add_varint(&tensor, ONNX_TENSOR_TYPE_ELEMENT, type, err) != 0 ||
                   protobuf_add_message(&tensor, ONNX_TENSOR_TYPE_SHAPE, &shape, err) != 0 ||
                   protobuf_add_message(&kind, ONNX_TYPE_TENSOR, &tensor, err) != 0 ||
                   protobuf_add_text(&value, ONNX_VALUE_NAME, name, err) != 0 ||
                   protobuf_add_message(&value, ONNX_VALUE_TYPE, &kind, err) != 0
               ? -1
               : protobuf_add_message(out, field, &value, err);
}

/* Adds input and output. The graph was built for one picture; its batch is replaced by the name. A
 * u8 input keeps the order of axes that pictures have in memory, an f32 input has that of
 * torchvision. */
static int add_ends(struct onnx *o, struct error *err) {
    const struct tensor *image = &o->graph->tensors[graph_find(o->graph, "image")];
    const struct tensor *logits = &o->graph->tensors[graph_find(o->graph, "logits")];
    const int64_t h = image->shape.dim[1], w = image->shape.dim[2];
    const int64_t bytes[] = {BATCH, h, w, 3}, floats[] = {BATCH, 3, h, w};
    const int64_t classes[] = {BATCH, logits->shape.dim[1]};
    const bool raw = o->options->bytes;
    return add_value(&o->parts, ONNX_GRAPH_INPUT, raw ? ONNX_IMAGE : ONNX_INPUT,
                     raw ? ONNX_U8 : ONNX_F32, raw ? bytes : floats, 4, err) != 0
               ? -1
               : add_value(&o->parts, ONNX_GRAPH_OUTPUT, "logits", ONNX_F32, classes, 2, err);
}

/* Appends everything before the graph. The first two fields must stay first: by them
 * command_export.c recognizes an earlier export. The empty domain is that of ONNX's own
 * operators. */
static int add_head(struct onnx *o, struct error *err) {
    cleanup_buf struct buf opset;
    buf_init(&opset, HEAD_MAX);
    buf_init(&o->model, GRAPH_MAX);
    if (protobuf_add_varint(&o->model, ONNX_MODEL_IR_VERSION, IR_VERSION, err) != 0 ||
        protobuf_add_text(&o->model, ONNX_MODEL_PRODUCER_NAME, "ringtrain", err) != 0 ||
        protobuf_add_text(&o->model, ONNX_MODEL_PRODUCER_VERSION, RINGMASTER_VERSION, err) != 0 ||
        protobuf_add_text(&opset, ONNX_OPSET_DOMAIN, "", err) != 0 ||
        protobuf_add_varint(&opset, ONNX_OPSET_VERSION, OPSET, err) != 0 ||
        protobuf_add_message(&o->model, ONNX_MODEL_OPSET, &opset, err) != 0)
        return -1;
    for (int i = 0; i < o->options->note_count; i++) {
        const struct onnx_note *note = &o->options->notes[i];
        cleanup_buf struct buf entry;
        buf_init(&entry, GRAPH_MAX);
        if (protobuf_add_text(&entry, ONNX_ENTRY_KEY, note->key, err) != 0 ||
            protobuf_add_text(&entry, ONNX_ENTRY_VALUE, note->value, err) != 0 ||
            protobuf_add_message(&o->model, ONNX_MODEL_METADATA, &entry, err) != 0)
            return -1;
    }
    return 0;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* Describes weight TENSOR as the model's file has it, which is also the order of ONNX: outputs,
 * inputs, height, width, where the graph has the inputs last. A FILE_MATRIX has four axes here and
 * two in the file (graph/tensor.h). */
static void describe(const struct tensor *t, struct array *ret) {
    const struct shape *s = &t->shape;
    *ret = (struct array){.name = t->name, .type = ARRAY_F32, .rank = s->rank};
    for (int i = 0; i < s->rank; i++)
        ret->shape[i] = s->dim[i];
    if (s->rank != 4)
        return;
    ret->shape[1] = s->dim[3];
    ret->shape[2] = s->dim[1];
    ret->shape[3] = s->dim[2];
    if (t->file != FILE_MATRIX)
        return;
    ret->rank = 2;
    ret->shape[1] *= ret->shape[2] * ret->shape[3];
}

/* Appends the fields of the TensorProto of ARRAY up to its bytes. */
static int add_tensor_head(struct buf *out, const struct array *array, struct error *err) {
    for (int i = 0; i < array->rank; i++)
        if (protobuf_add_varint(out, ONNX_TENSOR_DIMS, (uint64_t)array->shape[i], err) != 0)
            return -1;
    return protobuf_add_varint(out, ONNX_TENSOR_DATA_TYPE, ONNX_F32, err) != 0 ||
                   protobuf_add_text(out, ONNX_TENSOR_NAME, array->name, err) != 0
               ? -1
               : protobuf_add_length(out, ONNX_TENSOR_RAW_DATA, (uint64_t)array_bytes(array), err);
}

/* Appends everything of a weight's field in the graph that comes before its bytes. */
static int add_weight_head(struct buf *out, const struct array *array, struct error *err) {
    cleanup_buf struct buf head;
    buf_init(&head, HEAD_MAX);
    return add_tensor_head(&head, array, err) != 0 ||
                   protobuf_add_length(out, ONNX_GRAPH_INITIALIZER,
                                       head.size + (uint64_t)array_bytes(array), err) != 0
               ? -1
               : buf_add(out, head.data, head.size, err);
}

/* Computes the bytes of all weights' fields in the graph, by making their heads and throwing them
 * away: a length in Protocol Buffers takes as many bytes as it needs. `used` marks activations as
 * well, which are no weights. */
static int measure(const struct onnx *o, uint64_t *ret, struct error *err) {
    cleanup_buf struct buf head;
    buf_init(&head, HEAD_MAX);
    *ret = 0;
    for (int i = 0; i < o->graph->tensor_count; i++) {
        struct array array;
        if (!o->used[i] || o->graph->tensors[i].role == TENSOR_ACTIVATION)
            continue;
        describe(&o->graph->tensors[i], &array);
        head.size = 0;
        if (add_weight_head(&head, &array, err) != 0)
            return -1;
        *ret += head.size + (uint64_t)array_bytes(&array);
    }
    return 0;
}

/* Reads one weight from the model's file, checked against the shape that the network expects, and
 * writes its field. */
static int write_weight(const struct onnx *o, const struct tensor *t, int fd, struct error *err) {
    cleanup_buf struct buf head;
    struct array array;
    buf_init(&head, HEAD_MAX);
    describe(t, &array);
    const size_t bytes = (size_t)array_bytes(&array);
    cleanup_free void *values = malloc(bytes);
    array.data = values;
    if (values == NULL)
        return error_no_memory(err, "weights");
    return safetensors_read(o->weights, &array, err) != 0 ||
                   add_weight_head(&head, &array, err) != 0 ||
                   file_write_all(fd, head.data, head.size, err) != 0
               ? -1
               : file_write_all(fd, values, bytes, err);
}

/* Writes the complete file to FD. The sizes are known before the first byte, so that a network that
 * is too large leaves nothing. */
static int write_all(struct onnx *o, int fd, struct error *err) {
    uint64_t weights;
    if (measure(o, &weights, err) != 0 ||
        protobuf_add_length(&o->model, ONNX_MODEL_GRAPH, o->parts.size + weights, err) != 0)
        return -1;
    if (o->model.size + o->parts.size + weights > MODEL_BYTES_MAX)
        return error_set(err, EXIT_CODE_CONFIG,
                         "the network has more than 2 GiB, which is the "
                         "limit of one ONNX file");
    if (file_write_all(fd, o->model.data, o->model.size, err) != 0 ||
        file_write_all(fd, o->parts.data, o->parts.size, err) != 0)
        return -1;
    for (int i = 0; i < o->graph->tensor_count; i++)
        if (o->used[i] && o->graph->tensors[i].role != TENSOR_ACTIVATION &&
            write_weight(o, &o->graph->tensors[i], fd, err) != 0)
            return -1;
    return 0;
}

static int write_file(struct onnx *o, const char *path, struct error *err) {
    char temp[4096];
    const int fd = file_publish_open(path, temp, 0644, err);
    if (fd < 0)
        return -1;
    if (write_all(o, fd, err) == 0)
        return file_publish_commit(fd, temp, path, err);
    file_publish_abort(fd, temp);
    return error_wrap(err, "%s", path);
}

/* The nodes are made first, as they mark which weights they read; others, such as those of a loss,
 * are left out. */
int onnx_write(const struct graph *graph, const struct safetensors *weights,
               const struct onnx_options *options, const char *path, struct error *err) {
    struct onnx o = {.graph = graph, .weights = weights, .options = options};
    cleanup_free bool *used = calloc((size_t)graph->tensor_count + 1, sizeof(*used));
    struct onnx_nodes nodes = {
        .graph = graph, .bytes = options->bytes, .out = &o.parts, .used = used};
    o.used = used;
    buf_init(&o.parts, GRAPH_MAX);
    const int result =
        used == NULL ? error_no_memory(err, "the network")
        : add_head(&o, err) != 0 ||
                protobuf_add_text(&o.parts, ONNX_GRAPH_NAME, options->name, err) != 0 ||
                add_ends(&o, err) != 0 || onnx_nodes_add(&nodes, err) != 0
            ? -1
            : write_file(&o, path, err);
    buf_done(&o.model);
    buf_done(&o.parts);
    return result;
}
