#include "cpu/rows.h"

#include "graph/op_roi.h"

enum { BUCKETS = 8, PARTS = 16 };

static const int BUCKET_PARTS[BUCKETS] = {1, 2, 3, 4, 6, 8, 12, PARTS};

/* Which tensors of an operator have the rows, one bit a slot, and whether its attr.target has. */
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

/* Rows of all tensors that have them; 0 where they differ, or none has. */
static int64_t capacity_of(const struct graph *graph, const struct op *op) {
    const struct row_slots *slots = slots_of(op->kind);
    int64_t rows = 0;
    for (int i = 0; slots != NULL && i < OP_INPUTS_MAX + OP_OUTPUTS_MAX; i++) {
        bool input = i < OP_INPUTS_MAX;
        int slot = input ? i : i - OP_INPUTS_MAX;
        const struct tensor *tensor =
            input ? cpu_input(graph, op, slot) : cpu_output(graph, op, slot);
        if (tensor == NULL || ((input ? slots->inputs : slots->outputs) & SLOT(slot)) == 0)
            continue;
        if (rows > 0 && tensor->shape.dim[0] != rows)
            return 0;
        rows = tensor->shape.dim[0];
    }
    return rows;
}

bool rows_has(const struct graph *graph, const struct op *op) {
    return op->rows != TENSOR_NONE && capacity_of(graph, op) > 1;
}

/* An operator with fewer rows: a graph of its tensors alone. */
struct part {
    struct tensor tensors[OP_INPUTS_MAX + OP_OUTPUTS_MAX];
    struct graph graph;
    struct op op;
};

static int part_tensor(struct part *part, const struct graph *graph, int tensor, int place,
                       bool has_rows, int64_t rows) {
    if (tensor == TENSOR_NONE)
        return TENSOR_NONE;
    part->tensors[place] = graph->tensors[tensor];
    if (has_rows)
        part->tensors[place].shape.dim[0] = rows;
    return place;
}

static void part_make(struct part *part, const struct graph *graph, const struct op *op,
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

/* Rows of bucket NUMBER of CAPACITY, at least 1. */
static int64_t bucket_rows(int64_t capacity, int number) {
    return (capacity * BUCKET_PARTS[number] + PARTS - 1) / PARTS;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

int rows_query(const struct cpu_operator *row, const struct cpu *cpu, const struct graph *graph,
               const struct op *op, struct backend_needs *ret_needs, struct error *err) {
    const int64_t capacity = capacity_of(graph, op);
    for (int i = 0; i < BUCKETS && row->query != NULL; i++) {
        struct backend_needs needs = {0};
        struct part part;
        part_make(&part, graph, op, bucket_rows(capacity, i));
        if (row->query(cpu, &part.graph, &part.op, &needs, err) != 0)
            return -1;
        ret_needs->scratch = larger(ret_needs->scratch, needs.scratch);
        ret_needs->saved = larger(ret_needs->saved, needs.saved);
        ret_needs->packed = larger(ret_needs->packed, needs.packed);
        ret_needs->in_place = needs.in_place;
    }
    return 0;
}

struct bucket_op {
    struct cpu_step step;
    const int32_t *count;
    int64_t rows[BUCKETS];
    struct backend_bound bound[BUCKETS];
    int packed; /* the bucket whose weights lie packed, -1: they are stale */
};

static int run(void *context, struct error *err) {
    struct bucket_op *op = context;
    int bucket = 0;
    while (bucket < BUCKETS - 1 && op->rows[bucket] < *op->count)
        bucket++;
    const struct backend_bound *bound = &op->bound[bucket];
    if (bound->refresh.run != NULL && op->packed != bucket) {
        if (bound->refresh.run(bound->refresh.context, err) != 0)
            return -1;
        op->packed = bucket;
    }
    return bound->step.run(bound->step.context, err);
}

/* Which bucket will want them is not known yet. */
static int refresh(void *context, struct error *err) {
    (void)err;
    ((struct bucket_op *)context)->packed = -1;
    return 0;
}

static void done(void *context) {
    struct bucket_op *op = context;
    for (int i = 0; i < BUCKETS; i++)
        cpu_step_release(op->bound[i].step.context);
}

int rows_bind(const struct cpu_operator *row, const struct cpu *cpu, const struct graph *graph,
              const struct op *op, const struct backend_site *site, struct backend_bound *ret_bound,
              struct error *err) {
    const int64_t capacity = capacity_of(graph, op);
    struct bucket_op *bound = cpu_step_new(cpu, sizeof *bound, run, done, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->count = site->rows;
    bound->packed = -1;
    for (int i = 0; i < BUCKETS; i++) {
        struct part part;
        bound->rows[i] = bucket_rows(capacity, i);
        part_make(&part, graph, op, bound->rows[i]);
        if (row->bind(cpu, &part.graph, &part.op, site, &bound->bound[i], err) != 0)
            return -1;
        if (bound->bound[i].refresh.run != NULL)
            ret_bound->refresh = (struct bound_step){.run = refresh, .context = bound};
    }
    return 0;
}
