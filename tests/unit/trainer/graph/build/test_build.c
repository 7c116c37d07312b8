/* What the builder makes of what it is told, and what it refuses. Graphs are in bf16, so that wide
 * types differ from those of activations. Each case begins a graph in the one variable, and ends
 * it. */
#include "tests/support/unit.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/graph.h"

static struct graph graph;
static struct error err;

/* Begins a graph for training. */
static void begin(void) {
    err = (struct error){0};
    graph_init(&graph, DTYPE_BF16, true);
}

/* Fails unless the graph has an error with the words WHY; ends the graph. */
static void refused(const char *why) {
    CU_ASSERT_EQUAL(graph_finish(&graph, &err), -1);
    ASSERT_CONTAINS(err.text, why);
    graph_done(&graph);
}

/* Returns the tensor NAME, which must exist. */
static const struct tensor *named(const char *name) {
    int tensor = graph_find(&graph, name);
    CU_ASSERT_FATAL(tensor >= 0);
    return &graph.tensors[tensor];
}

static bool has_shape(const struct tensor *tensor, struct shape shape) {
    return shape_equal(&tensor->shape, &shape);
}

/* Each layout with each rank: a matrix is of four axes, a pixelwise convolution of two, and plain
 * fits all. A refused layout changes nothing. */
static void a_form_of_file_has_its_axes(void) {
    static const enum tensor_file forms[] = {FILE_PLAIN, FILE_MATRIX, FILE_PIXELWISE};
    for (int form = 0; form < 3; form++) {
        for (int rank = 1; rank <= 4; rank++) {
            begin();
            int w = graph_parameter(&graph, "w", (struct shape){rank, {2, 2, 2, 2}}, INIT_ZERO, 0);
            graph_file(&graph, w, forms[form]);
            bool good = form == 0 || (form == 1 && rank == 4) || (form == 2 && rank == 2);
            CU_ASSERT_EQUAL(graph_finish(&graph, &err), good ? 0 : -1);
            CU_ASSERT_EQUAL(graph.tensors[w].file, good ? forms[form] : FILE_PLAIN);
            if (!good)
                ASSERT_CONTAINS(err.text, form == 1 ? "w does not have the 4 axes"
                                                    : "w does not have the 2 axes");
            graph_done(&graph);
        }
    }
}

/* The second tensor of a name is not kept, and stays an activation. */
static void what_is_kept_has_a_name_of_its_own(void) {
    begin();
    int x = graph_input(&graph, "x", DTYPE_BF16, shape_2(2, 3));
    int y = graph_keep(&graph, graph_relu(&graph, x), "y");
    CU_ASSERT_EQUAL(graph.tensors[y].role, TENSOR_OUTPUT);
    CU_ASSERT_EQUAL(graph_find(&graph, "y"), y);
    int z = graph_relu(&graph, y);
    CU_ASSERT_EQUAL(graph_keep(&graph, z, "y"), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph.tensors[z].role, TENSOR_ACTIVATION);
    refused("two tensors have the name y");
}

/* Calls after an error do nothing, whatever they are given: tensors, operators, rows, losses and
 * layouts are as before, and the error is still the first one. */
static void behind_an_error_nothing_changes(void) {
    begin();
    int x = graph_input(&graph, "x", DTYPE_BF16, shape_2(2, 3));
    int rows = graph_input(&graph, "rows", DTYPE_I32, shape_1(1));
    int w = graph_parameter(&graph, "w", shape_2(2, 3), INIT_ONE, 0);
    int y = graph_relu(&graph, x);
    (void)graph_input(&graph, "x", DTYPE_BF16, shape_2(2, 3));
    int tensors = graph.tensor_count, ops = graph.op_count;
    graph_rows(&graph, rows);
    graph_file(&graph, w, FILE_PIXELWISE);
    graph_loss(&graph, y);
    CU_ASSERT_EQUAL(graph_keep(&graph, y, "y"), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_parameter(&graph, "v", shape_1(2), INIT_ONE, 3), TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_state(&graph, "s", shape_1(2), INIT_ONE), TENSOR_NONE);
    CU_ASSERT_EQUAL(
        graph_conv2d(&graph, "c", TENSOR_NONE, 1, 1, (struct op_window){.kernel = 1, .stride = 1}),
        TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_conv_transpose2d(&graph, "t", TENSOR_NONE, 1, 1,
                                           (struct op_window){.kernel = 2, .stride = 2}, false),
                    TENSOR_NONE);
    CU_ASSERT_EQUAL(graph_softmax_cross_entropy(&graph, TENSOR_NONE, x, x, 0), TENSOR_NONE);
    CU_ASSERT(graph.tensor_count == tensors && graph.op_count == ops);
    CU_ASSERT(graph.rows == TENSOR_NONE && graph.loss_count == 0);
    CU_ASSERT_EQUAL(graph.tensors[w].file, FILE_PLAIN);
    CU_ASSERT_EQUAL(graph.tensors[y].role, TENSOR_ACTIVATION);
    refused("two tensors have the name x");
}

/* Five samples: each counts a fifth. */
static void a_loss_is_the_mean_over_its_batch(void) {
    begin();
    int x = graph_input(&graph, "x", DTYPE_BF16, shape_2(5, 3));
    int label = graph_input(&graph, "label", DTYPE_I32, shape_1(5));
    int weight = graph_input(&graph, "weight", DTYPE_F32, shape_1(5));
    int logits = graph_linear(&graph, "fc", x, 4);
    int loss = graph_softmax_cross_entropy(&graph, logits, label, weight, 0.25);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    const struct op *op = &graph.ops[graph.tensors[loss].producer];
    CU_ASSERT_EQUAL(op->attr.gradient_scale, 0.2);
    CU_ASSERT_EQUAL(op->attr.label_smoothing, 0.25);
    CU_ASSERT(graph.loss_count == 1 && graph.losses[0] == graph.tensors[loss].producer);
    graph_done(&graph);
}

/* Mean and deviation are kept by channel, and the channels beyond three are added. */
static void a_picture_is_normalized_by_its_numbers(void) {
    begin();
    int image = graph_input(&graph, "image", DTYPE_U8, shape_4(1, 2, 2, 3));
    int x = graph_image_normalize(&graph, image, (float[3]){1, 2, 3}, (float[3]){4, 5, 6}, 8);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    const struct op_attr *attr = &graph.ops[graph.tensors[x].producer].attr;
    CU_ASSERT(attr->mean[0] == 1 && attr->mean[2] == 3);
    CU_ASSERT(attr->std[0] == 4 && attr->std[2] == 6);
    CU_ASSERT(has_shape(&graph.tensors[x], shape_4(1, 2, 2, 8)));
    graph_done(&graph);
}

/* f32 in a graph of bf16. What is made after graph_freeze is constant, parameters and states
 * alike. */
static void learned_values_have_the_wide_type(void) {
    begin();
    int w = graph_parameter(&graph, "w", shape_1(3), INIT_UNIFORM_BIAS, 7);
    int s = graph_state(&graph, "s", shape_1(3), INIT_ONE);
    graph_freeze(&graph, true);
    int c = graph_parameter(&graph, "c", shape_1(3), INIT_ONE, 0);
    int k = graph_state(&graph, "k", shape_1(3), INIT_ONE);
    CU_ASSERT(graph.tensors[w].dtype == DTYPE_F32 && graph.tensors[s].dtype == DTYPE_F32);
    CU_ASSERT(graph.tensors[w].role == TENSOR_PARAMETER && graph.tensors[s].role == TENSOR_STATE);
    CU_ASSERT(graph.tensors[c].role == TENSOR_CONSTANT && graph.tensors[k].role == TENSOR_CONSTANT);
    CU_ASSERT(graph.tensors[w].init == INIT_UNIFORM_BIAS && graph.tensors[w].init_fan == 7);
    CU_ASSERT_EQUAL(graph.tensors[s].init, INIT_ONE);
    graph_done(&graph);
}

/* Each layer's shapes and starts, as torch's modules have them. A bias needs the number of inputs
 * told; a transposed convolution has its inputs first. */
static void layers_make_their_weights(void) {
    begin();
    (void)graph_linear_map_weights(&graph, "map", 7, 16, 10);
    (void)graph_linear_weights(&graph, "fc", 12, 5);
    (void)graph_norm_weights(&graph, "bn", 6, INIT_ZERO);
    int x = graph_input(&graph, "x", DTYPE_BF16, shape_4(2, 3, 5, 6));
    int y = graph_conv_transpose2d(&graph, "up", x, 6, 4,
                                   (struct op_window){.kernel = 2, .stride = 2}, true);
    CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
    static const struct {
        const char *name;
        struct shape shape;
        enum tensor_init init;
        int64_t fan;
        enum tensor_file file;
    } rows[] = {{"map.weight", {4, {10, 7, 7, 16}}, INIT_UNIFORM_FAN_IN, 0, FILE_MATRIX},
                {"map.bias", {1, {10}}, INIT_UNIFORM_BIAS, 7 * 7 * 16, FILE_PLAIN},
                {"fc.weight", {2, {5, 12}}, INIT_UNIFORM_FAN_IN, 0, FILE_PLAIN},
                {"fc.bias", {1, {5}}, INIT_UNIFORM_BIAS, 12, FILE_PLAIN},
                {"bn.weight", {1, {6}}, INIT_ZERO, 0, FILE_PLAIN},
                {"bn.bias", {1, {6}}, INIT_ZERO, 0, FILE_PLAIN},
                {"bn.running_mean", {1, {6}}, INIT_ZERO, 0, FILE_PLAIN},
                {"bn.running_var", {1, {6}}, INIT_ONE, 0, FILE_PLAIN},
                {"up.weight", {4, {6, 2, 2, 4}}, INIT_NORMAL_FAN_OUT, 0, FILE_PLAIN},
                {"up.bias", {1, {4}}, INIT_UNIFORM_BIAS, 16, FILE_PLAIN}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct tensor *tensor = named(rows[i].name);
        CU_ASSERT(has_shape(tensor, rows[i].shape));
        CU_ASSERT(tensor->init == rows[i].init && tensor->init_fan == rows[i].fan);
        CU_ASSERT_EQUAL(tensor->file, rows[i].file);
    }
    CU_ASSERT(has_shape(&graph.tensors[y], shape_4(2, 6, 10, 4)));
    CU_ASSERT(graph.ops[graph.tensors[y].producer].attr.relu);
    graph_done(&graph);
}

/* The same weights twice: hidden in the graph's type, as logits in the wide one. */
static void a_hidden_layer_makes_an_activation(void) {
    for (int relu = 0; relu < 2; relu++) {
        begin();
        int x = graph_input(&graph, "x", DTYPE_BF16, shape_2(2, 3));
        struct graph_weights w = graph_linear_weights(&graph, "fc", 3, 4);
        int hidden = graph_linear_hidden_with(&graph, "fc", x, &w, relu == 1);
        int last = graph_linear_with(&graph, "fc", x, &w);
        CU_ASSERT_EQUAL_FATAL(graph_finish(&graph, &err), 0);
        CU_ASSERT_EQUAL(graph.tensors[hidden].dtype, DTYPE_BF16);
        CU_ASSERT_EQUAL(graph.tensors[last].dtype, DTYPE_F32);
        CU_ASSERT_EQUAL(graph.ops[graph.tensors[hidden].producer].attr.relu, relu == 1);
        graph_done(&graph);
    }
}

UNIT_SUITE("graph.build", UNIT(a_form_of_file_has_its_axes),
           UNIT(what_is_kept_has_a_name_of_its_own), UNIT(behind_an_error_nothing_changes),
           UNIT(a_loss_is_the_mean_over_its_batch), UNIT(a_picture_is_normalized_by_its_numbers),
           UNIT(learned_values_have_the_wide_type), UNIT(layers_make_their_weights),
           UNIT(a_hidden_layer_makes_an_activation))
