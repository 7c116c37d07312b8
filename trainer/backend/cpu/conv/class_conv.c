/* 1x1 convolution with one output channel per row, and its gradients. A row is a unit of work; the
 * weight gradient is summed by row and then, class by class, in the rows' order. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/graph/op_roi.h"
#include "trainer/math/bf16.h"

/* The last layer of the mask head has one channel per class, but a region's loss and its mask read
 * only the channel of its own class. Computing that channel alone saves a factor of the number of
 * classes, in the forward pass and in both gradients.
 *
 * Regions are the rows here. Labels below 1 (background, or a slot without a region) give zeros and
 * take no part in a gradient. The weight gradient needs two passes: rows of one class may lie
 * anywhere, so each row first writes sums of its own, and then one thread adds those of a class.
 * Adding into dw directly would need locks and an order that depends on the threads. */

struct class_op {
    struct cpu_step step;
    enum elem elem;
    size_t rows, pixels, channels, classes;
    const void *x;
    const float *w, *b;
    const int32_t *label;
    float *logits;
    const void *dy;
    void *dx;
    float *dw, *db;
    char *own;        /* for each thread: a row of weights and one of dy in f32 */
    size_t own_bytes; /* of one of them */
    float *parts;     /* for each row: gradients of the channels' weights, and of the bias */
};

/* Returns values in f32, converted into TO if necessary. */
static const float *wide_of(const struct class_op *op, const void *from, size_t first, size_t count,
                            float *to) {
    if (op->elem == ELEM_F32)
        return (const float *)from + first;
    op->step.cpu->loops->widen((const uint16_t *)from + first, to, 0, count);
    return to;
}

/* Returns the weights of LABEL, rounded to the activations' type. */
static const float *weights_of(const struct class_op *op, int thread, int32_t label) {
    const float *w = op->w + (size_t)label * op->channels;
    float *rounded = (float *)(void *)(op->own + (size_t)thread * op->own_bytes);
    if (op->elem == ELEM_F32)
        return w;
    for (size_t c = 0; c < op->channels; c++)
        rounded[c] = bf16_to_f32(bf16_from_f32(w[c]));
    return rounded;
}

/* Returns the gradients of ROW's pixels in f32. In bf16 they are converted into the second half of
 * the thread's own memory, after the row of weights, as data_row() needs both at once. No copy is
 * made in f32. */
static const float *dy_of(const struct class_op *op, int thread, size_t row) {
    char *own = op->own + (size_t)thread * op->own_bytes;
    float *room = (float *)(void *)(own + backend_aligned(op->channels * sizeof(float)));
    return wide_of(op, op->dy, row * op->pixels, op->pixels, room);
}

/* The first value of a region's pixels, in the activations' type. */
static const void *x_of(const struct class_op *op, size_t row) {
    return (const char *)op->x + row * op->pixels * op->channels * elem_size(op->elem);
}

/* The logits are f32 in every mode (graph/op_roi.h), so the loss reads sums that were not
 * rounded. */
static void forward_row(void *context, int thread, size_t row) {
    const struct class_op *op = context;
    float *y = op->logits + row * op->pixels;
    int32_t label = op->label[row];
    if (label < 1)
        memset(y, 0, op->pixels * sizeof *y);
    else
        op->step.cpu->loops->dot_rows(x_of(op, row), op->elem, op->channels, op->pixels,
                                      weights_of(op, thread, label), op->b[label], y);
}

/* dx[pixel][channel] = dy[pixel] * w[channel]: an outer product, as only one output channel depends
 * on the row. */
static void data_row(void *context, int thread, size_t row) {
    const struct class_op *op = context;
    size_t bytes = op->pixels * op->channels * elem_size(op->elem);
    void *dx = (char *)op->dx + row * bytes;
    if (op->label[row] < 1)
        memset(dx, 0, bytes);
    else
        op->step.cpu->loops->outer_rows(dy_of(op, thread, row),
                                        weights_of(op, thread, op->label[row]), op->elem,
                                        op->channels, op->pixels, dx);
}

/* Leaves the part of a row without a class uninitialized; has_rows() and sum_of() never read it. */
static void weight_row(void *context, int thread, size_t row) {
    const struct class_op *op = context;
    float *part = op->parts + row * (op->channels + 1);
    double sum = 0;
    if (op->label[row] < 1)
        return;
    const float *dy = dy_of(op, thread, row);
    op->step.cpu->loops->weigh_rows(dy, x_of(op, row), op->elem, op->channels, op->pixels, part);
    for (size_t i = 0; i < op->pixels; i++)
        sum += (double)dy[i];
    part[op->channels] = (float)sum;
}

/* Returns channel C of the sum over the rows of a class; the bias follows the channels. Sums are
 * double, so that the order of the rows hardly matters to the last bit that f32 keeps. */
static float sum_of(const struct class_op *op, size_t label, size_t c) {
    double sum = 0;
    for (size_t row = 0; row < op->rows; row++)
        if ((size_t)op->label[row] == label)
            sum += (double)op->parts[row * (op->channels + 1) + c];
    return (float)sum;
}

/* Returns true if any row has this class. Class 0 is the background and never has one. */
static bool has_rows(const struct class_op *op, size_t label) {
    for (size_t row = 0; row < op->rows && label >= 1; row++)
        if ((size_t)op->label[row] == label)
            return true;
    return false;
}

/* Writes dw and db of one class, in the order of its rows. Classes without rows get zeros: outputs
 * are overwritten, not added to. */
static void sum_class(void *context, int thread, size_t label) {
    const struct class_op *op = context;
    (void)thread;
    float *dw = op->dw + label * op->channels;
    bool any = has_rows(op, label);
    for (size_t c = 0; c < op->channels; c++)
        dw[c] = any ? sum_of(op, label, c) : 0;
    op->db[label] = any ? sum_of(op, label, op->channels) : 0;
}

static int run_forward(void *context, struct error *err) {
    (void)err;
    struct class_op *op = context;
    parallel_units(op->step.cpu->threads, op->rows, forward_row, op);
    return 0;
}

static int run_data(void *context, struct error *err) {
    (void)err;
    struct class_op *op = context;
    parallel_units(op->step.cpu->threads, op->rows, data_row, op);
    return 0;
}

/* The two passes are separate parallel regions: a class can be added only when all of its rows are
 * done. */
static int run_weight(void *context, struct error *err) {
    (void)err;
    struct class_op *op = context;
    parallel_units(op->step.cpu->threads, op->rows, weight_row, op);
    parallel_units(op->step.cpu->threads, op->classes, sum_class, op);
    return 0;
}

/* x, or dx. */
static const struct tensor *x_tensor(const struct graph *graph, const struct op *op) {
    return op->kind == OP_CLASS_CONV             ? cpu_input(graph, op, CLASS_CONV_X)
           : op->kind == OP_CLASS_CONV_GRAD_DATA ? cpu_output(graph, op, 0)
                                                 : cpu_input(graph, op, CLASS_CONV_GRAD_WEIGHT_X);
}

/* Bytes of one thread's memory: a row of weights, then the gradients of a row's pixels, each
 * aligned. */
static size_t own_bytes(const struct shape *x) {
    return backend_aligned((size_t)x->dim[3] * sizeof(float)) +
           backend_aligned((size_t)(x->dim[1] * x->dim[2]) * sizeof(float));
}

/* The same scratch for all three, although the forward pass in f32 uses none of it: it is small,
 * and one rule keeps `query` and new_op() in step. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    const struct shape *x = &x_tensor(graph, op)->shape;
    ret_needs->scratch = (size_t)cpu->threads * own_bytes(x);
    if (op->kind == OP_CLASS_CONV_GRAD_WEIGHT)
        ret_needs->scratch += (size_t)(x->dim[0] * (x->dim[3] + 1)) * sizeof(float);
    return 0;
}

/* Allocates the bound step and sets what all three operators share. The scratch begins with the
 * threads' own memory; the rows' parts follow, and exist only for the weight gradient. */
static struct class_op *new_op(const struct cpu *cpu, const struct graph *graph,
                               const struct op *op, const struct op_addresses *addresses,
                               int (*run)(void *, struct error *), struct backend_bound *ret_bound,
                               struct error *err) {
    struct class_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return NULL;
    const struct tensor *x = x_tensor(graph, op);
    bound->elem = cpu_elem(x->dtype);
    bound->rows = (size_t)x->shape.dim[0];
    bound->pixels = (size_t)(x->shape.dim[1] * x->shape.dim[2]);
    bound->channels = (size_t)x->shape.dim[3];
    bound->own = addresses->scratch;
    bound->own_bytes = own_bytes(&x->shape);
    bound->parts = (float *)(void *)(bound->own + (size_t)cpu->threads * bound->own_bytes);
    return bound;
}

static int bind_forward(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *ret_bound,
                        struct error *err) {
    struct class_op *bound = new_op(cpu, graph, op, addresses, run_forward, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->x = addresses->inputs[CLASS_CONV_X];
    bound->w = addresses->inputs[CLASS_CONV_W];
    bound->b = addresses->inputs[CLASS_CONV_B];
    bound->label = addresses->inputs[CLASS_CONV_LABEL];
    bound->logits = addresses->outputs[CLASS_CONV_Y];
    return 0;
}

static int bind_data(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    struct class_op *bound = new_op(cpu, graph, op, addresses, run_data, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->dy = addresses->inputs[CLASS_CONV_GRAD_DATA_DY];
    bound->w = addresses->inputs[CLASS_CONV_GRAD_DATA_W];
    bound->label = addresses->inputs[CLASS_CONV_GRAD_DATA_LABEL];
    bound->dx = addresses->outputs[0];
    return 0;
}

/* dw may be shaped [K, C] or [K, 1, 1, C]; the number of classes is read from db, which has one
 * dimension. */
static int bind_weight(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *ret_bound,
                       struct error *err) {
    struct class_op *bound = new_op(cpu, graph, op, addresses, run_weight, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->dy = addresses->inputs[CLASS_CONV_GRAD_WEIGHT_DY];
    bound->x = addresses->inputs[CLASS_CONV_GRAD_WEIGHT_X];
    bound->label = addresses->inputs[CLASS_CONV_GRAD_WEIGHT_LABEL];
    bound->dw = addresses->outputs[CLASS_CONV_GRAD_WEIGHT_DW];
    bound->db = addresses->outputs[CLASS_CONV_GRAD_WEIGHT_DB];
    bound->classes = (size_t)cpu_output(graph, op, CLASS_CONV_GRAD_WEIGHT_DB)->shape.dim[0];
    return 0;
}

const struct cpu_operator cpu_class_conv = {NULL, query, bind_forward};
const struct cpu_operator cpu_class_conv_grad_data = {NULL, query, bind_data};
const struct cpu_operator cpu_class_conv_grad_weight = {NULL, query, bind_weight};
