#include "trainer/graph/row_prefix.h"

enum { SIXTEENTHS = 16 };

static const int PART_SIXTEENTHS[ROW_PARTS] = {1, 2, 3, 4, 6, 8, 12, SIXTEENTHS};

/* The slots of an operator with tensors that have the rows, one bit each, and whether its
 * attr.target has them. */
struct row_slots {
    enum op_kind kind;
    unsigned inputs, outputs;
    bool target;
};

#define SLOT(slot) (1U << (slot))

static const struct row_slots ROW_SLOTS[] = {
    {OP_CONV2D, SLOT(0), SLOT(0), false},
    {OP_CONV2D_AFFINE, SLOT(AFFINE_X) | SLOT(AFFINE_SIDE), SLOT(0), false},
    {OP_CONV2D_GRAD_DATA, SLOT(0), SLOT(0), true},
    {OP_CONV2D_GRAD_DATA_AFFINE,
     SLOT(AFFINE_GRAD_DY) | SLOT(AFFINE_GRAD_Y) | SLOT(AFFINE_GRAD_SHORTCUT), SLOT(AFFINE_GRAD_G),
     true},
    {OP_CONV2D_GRAD_WEIGHT_AFFINE, SLOT(0) | SLOT(1), 0, false},
    {OP_CONV2D_GRAD_WEIGHT, SLOT(0) | SLOT(1), 0, false},
    {OP_BIAS, SLOT(0), SLOT(0), false},
    {OP_BIAS_GRAD, SLOT(0), 0, false},
    {OP_RELU, SLOT(0), SLOT(0), false},
    {OP_RELU_GRAD, SLOT(0) | SLOT(1), SLOT(0), false},
    {OP_ROI_ALIGN, SLOT(ROI_ALIGN_ROW), SLOT(ROI_ALIGN_Y), false},
    {OP_ROI_ALIGN_GRAD, SLOT(ROI_ALIGN_GRAD_DY) | SLOT(ROI_ALIGN_GRAD_ROW), 0, false},
    {OP_MASK_TARGETS, SLOT(MASK_TARGETS_ROW), SLOT(MASK_TARGETS_T), false},
    {OP_CLASS_CONV, SLOT(CLASS_CONV_X) | SLOT(CLASS_CONV_LABEL), SLOT(CLASS_CONV_Y), false},
    {OP_CLASS_CONV_GRAD_DATA, SLOT(CLASS_CONV_GRAD_DATA_DY) | SLOT(CLASS_CONV_GRAD_DATA_LABEL),
     SLOT(0), true},
    {OP_CLASS_CONV_GRAD_WEIGHT,
     SLOT(CLASS_CONV_GRAD_WEIGHT_DY) | SLOT(CLASS_CONV_GRAD_WEIGHT_X) |
         SLOT(CLASS_CONV_GRAD_WEIGHT_LABEL),
     0, false},
};

static const struct row_slots *slots_of(enum op_kind kind) {
    for (size_t i = 0; i < sizeof(ROW_SLOTS) / sizeof(ROW_SLOTS[0]); i++)
        if (ROW_SLOTS[i].kind == kind)
            return &ROW_SLOTS[i];
    return NULL;
}

static const struct tensor *tensor_of(const struct graph *graph, int number) {
    return number == TENSOR_NONE ? NULL : &graph->tensors[number];
}

int64_t row_prefix_capacity(const struct graph *graph, const struct op *op) {
    const struct row_slots *slots = slots_of(op->kind);
    int64_t rows = 0;
    if (op->rows == TENSOR_NONE)
        return 0;
    for (int i = 0; slots != NULL && i < OP_INPUTS_MAX + OP_OUTPUTS_MAX; i++) {
        bool input = i < OP_INPUTS_MAX;
        int slot = input ? i : i - OP_INPUTS_MAX;
        const struct tensor *tensor =
            tensor_of(graph, input ? op->inputs[slot] : op->outputs[slot]);
        if (tensor == NULL || ((input ? slots->inputs : slots->outputs) & SLOT(slot)) == 0)
            continue;
        if (rows > 0 && tensor->shape.dim[0] != rows)
            return 0;
        rows = tensor->shape.dim[0];
    }
    return rows;
}

int64_t row_prefix_rows(int64_t capacity, int part) {
    return (capacity * PART_SIXTEENTHS[part] + SIXTEENTHS - 1) / SIXTEENTHS;
}

static int part_tensor(struct row_prefix *part, const struct graph *graph, int tensor, int place,
                       bool has_rows, int64_t rows) {
    if (tensor == TENSOR_NONE)
        return TENSOR_NONE;
    part->tensors[place] = graph->tensors[tensor];
    if (has_rows)
        part->tensors[place].shape.dim[0] = rows;
    return place;
}

void row_prefix_make(struct row_prefix *part, const struct graph *graph, const struct op *op,
                     int64_t rows) {
    const struct row_slots *slots = slots_of(op->kind);
    part->graph = *graph;
    part->graph.tensors = part->tensors;
    part->graph.tensor_count = OP_INPUTS_MAX + OP_OUTPUTS_MAX;
    part->graph.ops = &part->op;
    part->graph.op_count = 1;
    part->op = *op;
    part->op.rows = TENSOR_NONE;
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        part->op.inputs[i] =
            part_tensor(part, graph, op->inputs[i], i, (slots->inputs & SLOT(i)) != 0, rows);
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        part->op.outputs[i] = part_tensor(part, graph, op->outputs[i], OP_INPUTS_MAX + i,
                                          (slots->outputs & SLOT(i)) != 0, rows);
    if (slots->target)
        part->op.attr.target.dim[0] = rows;
}
