/* Which heads of a region proposal network get their gradients from the sampled anchors alone. A
 * head with nothing odd is fused; each oddity makes a gradient read or write more than the samples,
 * and must prevent it. */
#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/build/build.h"
#include "trainer/graph/build/build_rpn.h"
#include "trainer/graph/fuse/fuse.h"
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/gradient/gradients.h"
#include "trainer/math/anchor.h"

enum { CHANNELS = 8, CELLS = 4, PIXELS = CELLS * CELLS };

static const struct detect_attr attr = {.canvas_h = 4 * CELLS,
                                        .canvas_w = 4 * CELLS,
                                        .levels = 1,
                                        .stride_h = {4},
                                        .stride_w = {4},
                                        .half_w = {{6, 4, 3}},
                                        .half_h = {{3, 4, 6}},
                                        .pre_nms = 10,
                                        .samples = 6,
                                        .positives = 3};

/* Properties of a head that keep it from being one operator. */
enum oddity {
    NOTHING,
    NARROW_WINDOW, /* 1x1 */
    STRIDE,        /* over a map of twice the size */
    NO_PADDING,    /* over a larger map */
    PLAIN_INPUT,   /* the map needs no gradient */
    NO_RELU,       /* between the convolution and the predictors */
    FROZEN_BIAS,   /* of the convolution */
    FROZEN_CONVOLUTION,
    OTHER_READER, /* of the rectified map, with a loss of its own */
    OTHER_LOSS,   /* on the logits */
    TWO_MAPS,     /* logits and deltas have different ones */
    ODDITIES
};

struct head {
    struct graph graph;
    struct backend *backend;
    int map, t, conv, cls, box; /* tensors: the head's input, its rectified map, weights */
};

/* Adds the softmax cross entropy of X [n, C] as a loss. */
static void add_loss(struct graph *graph, const char *name, int x) {
    const char label[] = {name[0], 'l', '\0'}, weight[] = {name[0], 'w', '\0'};
    int64_t rows = graph->tensors[x].shape.dim[0];
    (void)graph_softmax_cross_entropy(graph, x, graph_input(graph, label, DTYPE_I32, shape_1(rows)),
                                      graph_input(graph, weight, DTYPE_F32, shape_1(rows)), 0);
}

/* t = relu(conv(map) + bias), with the changes for ODD. */
static int convolve(struct head *h, const char *name, enum oddity odd) {
    struct graph *graph = &h->graph;
    struct op_window window = {.kernel = 3, .stride = 1, .pad = 1};
    if (odd == NARROW_WINDOW)
        window = (struct op_window){.kernel = 1, .stride = 1};
    if (odd == STRIDE)
        window.stride = 2;
    if (odd == NO_PADDING)
        window.pad = 0;
    graph_freeze(graph, odd == FROZEN_CONVOLUTION);
    struct graph_weights conv =
        graph_conv2d_weights(graph, name, CHANNELS, CHANNELS, window.kernel);
    graph_freeze(graph, odd == FROZEN_BIAS);
    conv.bias = graph_bias_parameter(graph, name, CHANNELS, INIT_ZERO, 0);
    graph_freeze(graph, false);
    h->conv = conv.weight;
    return graph_conv2d_bias_with(graph, name, h->map, &conv, window, odd != NO_RELU);
}

/* Builds a head with its loss and its backward pass, not fused yet. */
static void build(struct head *h, enum oddity odd) {
    struct graph *graph = &h->graph;
    struct error err = {0};
    *h = (struct head){0};
    CU_ASSERT_EQUAL_FATAL(ref_open(&h->backend, &err), 0);
    graph_init(graph, DTYPE_F32, true);
    int64_t side = odd == STRIDE ? 2 * CELLS : odd == NO_PADDING ? CELLS + 2 : CELLS;
    h->map = graph_input(graph, "x", DTYPE_F32, shape_4(1, side, side, CHANNELS));
    if (odd != PLAIN_INPUT)
        h->map = graph_conv2d(graph, "body", h->map, CHANNELS, CHANNELS,
                              (struct op_window){.kernel = 1, .stride = 1});
    int other = h->t = convolve(h, "conv", odd);
    if (odd == TWO_MAPS)
        other = convolve(h, "second", NOTHING);
    struct graph_weights cls = graph_linear_weights(graph, "cls", CHANNELS, ANCHOR_SHAPES);
    struct graph_weights box = graph_linear_weights(graph, "box", CHANNELS, 4 * ANCHOR_SHAPES);
    h->cls = cls.weight;
    h->box = box.weight;
    int logits = graph_linear_with(graph, "cls", h->t, &cls);
    int deltas = graph_linear_with(graph, "box", other, &box);
    struct rpn_samples samples = {.index = graph_input(graph, "i", DTYPE_I32, shape_2(1, 6)),
                                  .label = graph_input(graph, "l", DTYPE_I32, shape_2(1, 6)),
                                  .target = graph_input(graph, "t", DTYPE_F32, shape_3(1, 6, 4))};
    (void)graph_keep(graph, graph_rpn_loss(graph, "rpn", &logits, &deltas, &samples, &attr),
                     "loss");
    if (odd == OTHER_READER)
        add_loss(graph, "a", graph_linear(graph, "fc", graph_global_avg_pool(graph, h->t), 3));
    if (odd == OTHER_LOSS)
        add_loss(graph, "b", logits);
    CU_ASSERT_EQUAL_FATAL(graph_finish(graph, &err), 0);
    CU_ASSERT_EQUAL_FATAL(graph_add_gradients(graph, &err), 0);
}

static void end(struct head *h) {
    graph_done(&h->graph);
    backend_close(h->backend);
}

static int count(const struct head *h, enum op_kind kind) {
    int found = 0;
    for (int i = 0; i < h->graph.op_count; i++)
        found += h->graph.ops[i].kind == kind;
    return found;
}

static void fuse(struct head *h, enum fusion level) {
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(graph_fuse(&h->graph, h->backend, level, &err), 0);
}

/* Returns the output of OP that is the gradient of PARAMETER, or -1. */
static int gradient_slot(const struct head *h, const struct op *op, int parameter) {
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op->outputs[i] != TENSOR_NONE && op->outputs[i] == gradients_of(&h->graph, parameter))
            return i;
    return -1;
}

/* Ten operators become one, at FUSION_ALL alone. Inputs are the head's tensors, outputs the
 * gradients of its map and its six parameters, and the operator is known as their producer. */
static void a_head_is_one_operator(void) {
    struct head h;
    build(&h, NOTHING);
    fuse(&h, FUSION_NORM);
    CU_ASSERT_EQUAL(count(&h, OP_RPN_HEAD_GRAD), 0);
    int before = h.graph.op_count;
    fuse(&h, FUSION_ALL);
    CU_ASSERT_EQUAL(count(&h, OP_RPN_HEAD_GRAD), 1);
    CU_ASSERT_EQUAL(h.graph.op_count, before - 9);
    int number = 0;
    while (h.graph.ops[number].kind != OP_RPN_HEAD_GRAD)
        number++;
    const struct op *op = &h.graph.ops[number];
    CU_ASSERT_EQUAL(op->inputs[RPN_HEAD_GRAD_X], h.map);
    CU_ASSERT_EQUAL(op->inputs[RPN_HEAD_GRAD_T], h.t);
    CU_ASSERT_EQUAL(op->inputs[RPN_HEAD_GRAD_W_CONV], h.conv);
    CU_ASSERT_EQUAL(op->inputs[RPN_HEAD_GRAD_W_CLS], h.cls);
    CU_ASSERT_EQUAL(op->inputs[RPN_HEAD_GRAD_W_BOX], h.box);
    CU_ASSERT_EQUAL(op->outputs[RPN_HEAD_GRAD_DX], gradients_of(&h.graph, h.map));
    static const struct {
        const char *name;
        int slot;
    } rows[] = {{"conv.weight", RPN_HEAD_GRAD_DW_CONV}, {"conv.bias", RPN_HEAD_GRAD_DB_CONV},
                {"cls.weight", RPN_HEAD_GRAD_DW_CLS},   {"cls.bias", RPN_HEAD_GRAD_DB_CLS},
                {"box.weight", RPN_HEAD_GRAD_DW_BOX},   {"box.bias", RPN_HEAD_GRAD_DB_BOX}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_EQUAL(gradient_slot(&h, op, graph_find(&h.graph, rows[i].name)), rows[i].slot);
    for (int i = 0; i < RPN_HEAD_GRAD_OUTPUTS; i++)
        CU_ASSERT_EQUAL(h.graph.tensors[op->outputs[i]].producer, number);
    end(&h);
}

/* Nothing at all changes from the level below. */
static void what_reads_more_than_samples_stays_as_it_is(void) {
    for (enum oddity odd = NOTHING + 1; odd < ODDITIES; odd++) {
        struct head h;
        build(&h, odd);
        fuse(&h, FUSION_NORM);
        int before = h.graph.op_count;
        fuse(&h, FUSION_ALL);
        CU_ASSERT_EQUAL(count(&h, OP_RPN_HEAD_GRAD), 0);
        CU_ASSERT_EQUAL(h.graph.op_count, before);
        end(&h);
    }
}

static struct backend_table poor_table;

static bool lacks_heads(const struct backend *backend, const struct graph *graph,
                        const struct op *op) {
    (void)backend;
    (void)graph;
    return op->kind != OP_RPN_HEAD_GRAD;
}

static void a_backend_without_it_keeps_the_ten_operators(void) {
    struct head h;
    build(&h, NOTHING);
    poor_table = *h.backend->table;
    poor_table.supports = lacks_heads;
    h.backend->table = &poor_table;
    fuse(&h, FUSION_NORM);
    int before = h.graph.op_count;
    fuse(&h, FUSION_ALL);
    CU_ASSERT_EQUAL(h.graph.op_count, before);
    CU_ASSERT_EQUAL(count(&h, OP_RPN_LOSS_GRAD), 1);
    end(&h);
}

UNIT_SUITE("graph.fuse_rpn", UNIT(a_head_is_one_operator),
           UNIT(what_reads_more_than_samples_stays_as_it_is),
           UNIT(a_backend_without_it_keeps_the_ten_operators))
