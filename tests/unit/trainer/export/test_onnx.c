#include "common/binary/protobuf.h"
#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/export/onnx.h"
#include "trainer/export/onnx_fields.h"
#include "trainer/export/onnx_nodes.h"
#include "trainer/graph/build/build.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A small network is exported to a file, which is then read field by field with the reader of
 * Protocol Buffers that other formats use. Whether ONNX Runtime computes the same numbers from such
 * files is not asked here, as it needs that program.
 *
 * Order of nodes, names of weights and attributes are compared as lists of words. */

/* WORDS is the room for the words of one list. */
enum { SIDE = 4, CHANNELS = 2, CLASSES = 3, WORDS = 512 };

static const float mean[] = {0.5F, 0.4F, 0.3F}, deviation[] = {0.2F, 0.25F, 0.5F};

/* Builds a convolution with a bias and a ReLU, and a layer over the mean of its pixels: each kind
 * of weight once. */
static void build(struct graph *graph) {
    const struct op_window window = {.kernel = 1, .stride = 1};
    graph_init(graph, DTYPE_F32, false);
    int x = graph_input(graph, "image", DTYPE_U8, shape_4(1, SIDE, SIDE, 3));
    x = graph_image_normalize(graph, x, mean, deviation, 3);
    x = graph_conv2d_bias(graph, "conv", x, 3, CHANNELS, window, true);
    x = graph_linear(graph, "fc", graph_global_avg_pool(graph, x), CLASSES);
    (void)graph_keep(graph, x, "logits");
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, NULL), 0);
}

/* Writes the model's file: names, ranks and orders of axes are those of torchvision. One array
 * serves for all values, as no number is compared. */
static void write_weights(const char *path) {
    static float values[CHANNELS * 3] = {1, 2, 3, 4, 5, 6};
    const struct array arrays[] = {
        {.name = "conv.weight", .rank = 4, .shape = {CHANNELS, 3, 1, 1}, .data = values},
        {.name = "conv.bias", .rank = 1, .shape = {CHANNELS}, .data = values},
        {.name = "fc.weight", .rank = 2, .shape = {CLASSES, CHANNELS}, .data = values},
        {.name = "fc.bias", .rank = 1, .shape = {CLASSES}, .data = values},
    };
    CU_ASSERT_EQUAL_FATAL(safetensors_write(path, arrays, 4, NULL, 0, NULL), 0);
}

/* Appends the texts of field NUMBER of the message, each with a blank. MESSAGE is a view of its
 * own, so the caller's is not moved. */
static void texts_of(struct protobuf_view message, uint32_t number, char text[WORDS]) {
    struct protobuf_field field;
    while (protobuf_next(&message, &field, NULL) == 1)
        if (field.number == number && field.type == PROTOBUF_BYTES)
            (void)snprintf(text + strlen(text), WORDS - strlen(text), "%.*s ", (int)field.view.size,
                           (const char *)field.view.bytes);
}

/* What is found in a graph: kinds of nodes, inputs of its convolution, names and bytes of weights,
 * inputs of the model. */
struct parts {
    char nodes[WORDS], conv[WORDS], weights[WORDS], inputs[WORDS];
    size_t weight_bytes;
};

/* Reads the nodes and weights of GRAPH, in the order of the file. */
static void read_graph(struct protobuf_view graph, struct parts *ret) {
    struct protobuf_field field, part;
    while (protobuf_next(&graph, &field, NULL) == 1) {
        char type[WORDS] = "";
        if (field.number == ONNX_GRAPH_NODE) {
            texts_of(field.view, ONNX_NODE_OP_TYPE, type);
            texts_of(field.view, ONNX_NODE_OP_TYPE, ret->nodes);
            if (strcmp(type, "Conv ") == 0)
                texts_of(field.view, ONNX_NODE_INPUT, ret->conv);
        } else if (field.number == ONNX_GRAPH_INITIALIZER) {
            texts_of(field.view, ONNX_TENSOR_NAME, ret->weights);
            while (protobuf_next(&field.view, &part, NULL) == 1)
                ret->weight_bytes += part.number == ONNX_TENSOR_RAW_DATA ? part.view.size : 0;
        } else if (field.number == ONNX_GRAPH_INPUT) {
            texts_of(field.view, ONNX_VALUE_NAME, ret->inputs);
        }
    }
}

/* Exports to a folder of its own, reads the file back, and removes everything. The whole file must
 * be one message: nothing is left after its last field. */
static void export(bool bytes, struct parts *ret) {
    char folder[] = "/tmp/onnx.XXXXXX", weights[64], path[64];
    cleanup_safetensors struct safetensors file = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    const struct onnx_note note = {"side", "4"};
    const struct onnx_options options = {
        .name = "net", .bytes = bytes, .notes = &note, .note_count = 1};
    struct graph graph = {0};
    struct protobuf_field field;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    (void)snprintf(weights, sizeof(weights), "%s/w", folder);
    (void)snprintf(path, sizeof(path), "%s/onnx", folder);
    build(&graph);
    write_weights(weights);
    CU_ASSERT_EQUAL_FATAL(safetensors_open(&file, weights, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(onnx_write(&graph, &file, &options, path, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(path, &text, NULL), 0);
    struct protobuf_view view = {(const uint8_t *)text.data, text.size};
    *ret = (struct parts){0};
    while (protobuf_next(&view, &field, NULL) == 1)
        if (field.number == ONNX_MODEL_IR_VERSION)
            CU_ASSERT_EQUAL(field.value, 8)
        else if (field.number == ONNX_MODEL_GRAPH)
            read_graph(field.view, ret);
    CU_ASSERT_EQUAL(view.size, 0);
    graph_done(&graph);
    (void)unlink(path);
    (void)unlink(weights);
    (void)rmdir(folder);
}

/* A normalized input is only renamed; the bias has no node. The bytes of all weights are those of
 * four arrays of f32. */
static void bias_becomes_part_of_its_convolution(void) {
    struct parts p;
    export(false, &p);
    CU_ASSERT_STRING_EQUAL(p.nodes, "Identity Conv Relu GlobalAveragePool Flatten Gemm ");
    ASSERT_CONTAINS(p.conv, " conv.weight conv.bias ");
    CU_ASSERT_STRING_EQUAL(p.weights, "conv.weight conv.bias fc.weight fc.bias ");
    CU_ASSERT_EQUAL(p.weight_bytes, sizeof(float) * (6 + 2 + 6 + 3));
    CU_ASSERT_STRING_EQUAL(p.inputs, "input ");
}

/* A u8 input has five more nodes at the beginning, and three constants. */
static void bytes_are_normalized_in_the_model(void) {
    struct parts p;
    export(true, &p);
    CU_ASSERT_STRING_EQUAL(p.nodes, "Cast Transpose Div Sub Div Conv Relu GlobalAveragePool "
                                    "Flatten Gemm ");
    ASSERT_CONTAINS(p.weights, "image_full image_mean image_std ");
    CU_ASSERT_STRING_EQUAL(p.inputs, "image ");
}

/* Appends the whole numbers of the node's attribute NAME, each with a blank. */
static void numbers_of(struct protobuf_view node, const char *name, char text[WORDS]) {
    struct protobuf_field field;
    while (protobuf_next(&node, &field, NULL) == 1) {
        char is[WORDS] = "";
        struct protobuf_field part;
        if (field.number != ONNX_NODE_ATTRIBUTE)
            continue;
        texts_of(field.view, ONNX_ATTRIBUTE_NAME, is);
        while (strncmp(is, name, strlen(name)) == 0 && protobuf_next(&field.view, &part, NULL) == 1)
            if (part.number == ONNX_ATTRIBUTE_I || part.number == ONNX_ATTRIBUTE_INTS)
                (void)snprintf(text + strlen(text), WORDS - strlen(text), "%d ", (int)part.value);
    }
}

/* Nodes alone, in a graph that has no file for its weights. The convolution's window is 1 x 3 in
 * two groups, so both sides and both pads are told apart; the pool's is square. Pads come as begin,
 * begin, end, end. */
static void windows_groups_and_maps_become_attributes(void) {
    struct graph graph = {0};
    struct buf out = {.max = 1 << 20};
    bool used[64] = {0};
    struct onnx_nodes nodes = {.graph = &graph, .out = &out, .used = used};
    char types[WORDS] = "", groups[WORDS] = "", kernels[WORDS] = "", pads[WORDS] = "";
    char axis[WORDS] = "", padding_counts[WORDS] = "";
    struct protobuf_field field;
    graph_init(&graph, DTYPE_F32, false);
    int x = graph_input(&graph, "image", DTYPE_F32, shape_4(1, SIDE, SIDE, 4));
    int a =
        graph_conv2d(&graph, "a", x, 4, 6,
                     (struct op_window){.kernel = 1, .stride = 1, .groups = 2, .across = {3, 1}});
    int b = graph_avg_pool(&graph, x, (struct op_window){.kernel = 3, .stride = 1, .pad = 1});
    (void)graph_concat(&graph, "both", (int[]){a, b}, 2);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(onnx_nodes_add(&nodes, NULL), 0);
    struct protobuf_view view = {(const uint8_t *)out.data, out.size};
    while (protobuf_next(&view, &field, NULL) == 1) {
        texts_of(field.view, ONNX_NODE_OP_TYPE, types);
        numbers_of(field.view, "group", groups);
        numbers_of(field.view, "kernel_shape", kernels);
        numbers_of(field.view, "pads", pads);
        numbers_of(field.view, "axis", axis);
        numbers_of(field.view, "count_include_pad", padding_counts);
    }
    CU_ASSERT_STRING_EQUAL(types, "Conv AveragePool Concat ");
    CU_ASSERT_STRING_EQUAL(groups, "2 ");
    CU_ASSERT_STRING_EQUAL(kernels, "1 3 3 3 ");
    CU_ASSERT_STRING_EQUAL(pads, "0 1 0 1 1 1 1 1 ");
    CU_ASSERT_STRING_EQUAL(axis, "1 ");
    CU_ASSERT_STRING_EQUAL(padding_counts, "1 ");
    graph_done(&graph);
    buf_done(&out);
}

/* A transposed convolution is such an operator. The path cannot be written to, which must not come
 * up: the nodes are made first. */
static void operator_without_a_row_is_named(void) {
    const struct onnx_options options = {.name = "net"};
    struct safetensors none = {0};
    struct graph graph = {0};
    struct error err = {0};
    graph_init(&graph, DTYPE_F32, false);
    int x = graph_input(&graph, "image", DTYPE_F32, shape_4(1, SIDE, SIDE, 3));
    x = graph_conv_transpose2d(&graph, "up", x, 3, 2, (struct op_window){.kernel = 2, .stride = 2},
                               false);
    (void)graph_keep(&graph, x, "logits");
    CU_ASSERT_EQUAL(onnx_write(&graph, &none, &options, "/nowhere/x", &err), -1);
    ASSERT_CONTAINS(err.text, "conv2d_grad_data: no such operator");
    graph_done(&graph);
}

UNIT_SUITE("export.onnx", UNIT(bias_becomes_part_of_its_convolution),
           UNIT(bytes_are_normalized_in_the_model), UNIT(operator_without_a_row_is_named),
           UNIT(windows_groups_and_maps_become_attributes))
