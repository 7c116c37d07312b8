/* Gradient of a region proposal network's head on one level, only for the pixels of sampled
 * anchors (OP_RPN_HEAD_GRAD). Their rows of t and neighbourhoods in x are gathered, so that the
 * work is products of small matrices; gradients of x are summed pixel by pixel in a fixed order.
 *
 * U pixels are sampled, each counted once for all of its anchors; an anchor has 1 + 4 of the WIDTH
 * outputs of the head per pixel. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/backend/cpu/detect/rank_select.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/bf16.h"
#include "trainer/math/detect_loss.h"
#include "trainer/math/match.h"
#include "trainer/math/relu.h"

enum { WIDTH = 5 * ANCHOR_SHAPES, TAPS = 9 };

/* The head is a 3x3 convolution with ReLU (x to t) and two 1x1 predictors (t to logits and deltas).
 * Losses touch only the sampled anchors, a few hundred pixels of maps with tens of thousands, so a
 * dense backward pass would mostly multiply zeros. */
struct head_op {
    struct cpu_step step;
    struct detect_attr attr;
    struct anchor_level level;
    int next; /* number of the first anchor after the level */
    double scale;
    size_t slots, samples, pictures, in, out; /* slots: of all pictures; in, out: channels */
    enum elem elem;
    const void *input[RPN_HEAD_GRAD_INPUTS];
    void *output[RPN_HEAD_GRAD_OUTPUTS];
    /* In scratch, one row per sampled pixel */
    uint64_t *order, *touched;      /* pixel and slot; pixel of x, and its tap */
    uint32_t *pixel, *group;        /* of the whole batch; start of each pixel of x in touched */
    float *gradient;                /* [U, WIDTH], of logits and deltas */
    float *t, *dt, *patch, *dpatch; /* [U, out], [U, TAPS * in] */
    float *sum;                     /* [threads, in] */
    size_t count, groups;           /* U; pixels of x */
};

static const float *floats(const struct head_op *op, enum rpn_head_grad_slot slot) {
    return op->input[slot];
}

/* Losses are means over the samples of the whole batch, all levels included: INDEX lists those of
 * every level. With DETECT_RPN_FIXED_COUNT empty slots count, too. */
static double divisor(const struct head_op *op) {
    const int32_t *index = op->input[RPN_HEAD_GRAD_INDEX];
    size_t found = 0;
    for (size_t i = 0; i < op->slots; i++)
        found += index[i] >= 0;
    if ((op->attr.flags & DETECT_RPN_FIXED_COUNT) != 0)
        return (double)op->slots;
    return found > 0 ? (double)found : 1;
}

/* --- which pixels, and what the losses say of them -------------------------------------------- */

/* Adds the gradients of one sample to its pixel's row. Slots of one pixel have different anchor
 * shapes, so each writes its own columns. The classifier's loss is the binary cross-entropy, the
 * box loss smooth L1 for objects alone. */
static void grade_slot(const struct head_op *op, size_t slot, double scale, float gradient[WIDTH]) {
    const int32_t *index = op->input[RPN_HEAD_GRAD_INDEX], *label = op->input[RPN_HEAD_GRAD_LABEL];
    const float *target = floats(op, RPN_HEAD_GRAD_TARGET) + slot * 4;
    size_t own = (size_t)(index[slot] - op->level.first), shape = own % ANCHOR_SHAPES;
    size_t row = slot / op->samples * (size_t)anchor_level_count(&op->level) + own;
    const float *delta = floats(op, RPN_HEAD_GRAD_DELTAS) + row * 4;
    gradient[shape] =
        (float)(scale *
                logit_loss_gradient((double)floats(op, RPN_HEAD_GRAD_LOGITS)[row], label[slot]));
    for (size_t k = 0; k < 4 && label[slot] == MATCH_OBJECT; k++)
        gradient[ANCHOR_SHAPES + shape * 4 + k] =
            (float)(scale * smooth_l1_gradient((double)delta[k] - (double)target[k],
                                               (double)op->attr.beta));
}

/* Fills order, pixel, gradient and count. Samples of other levels are skipped. Sorting by pixel,
 * then slot, brings the anchors of a pixel together. rank_select() sorts in falling order, and the
 * keys are inverted to make that ascending. */
static void gather_slots(struct head_op *op) {
    const int32_t *index = op->input[RPN_HEAD_GRAD_INDEX];
    const double scale = op->scale / divisor(op);
    size_t found = 0, pixels = (size_t)(op->level.height * op->level.width);
    for (size_t slot = 0; slot < op->slots; slot++) {
        if (index[slot] < op->level.first || index[slot] >= op->next)
            continue;
        uint64_t pixel =
            slot / op->samples * pixels + (size_t)((index[slot] - op->level.first) / ANCHOR_SHAPES);
        op->order[found++] = ~(pixel << 32 | slot);
    }
    (void)rank_select(op->order, found, found);
    op->count = 0;
    for (size_t i = 0; i < found; i++) {
        uint32_t pixel = (uint32_t)(~op->order[i] >> 32), slot = (uint32_t)~op->order[i];
        if (op->count == 0 || op->pixel[op->count - 1] != pixel) {
            memset(op->gradient + op->count * WIDTH, 0, WIDTH * sizeof(float));
            op->pixel[op->count++] = pixel;
        }
        grade_slot(op, slot, scale, op->gradient + (op->count - 1) * WIDTH);
    }
}

/* --- rows of the maps ------------------------------------------------------------------------- */

/* A pixel's channels in f32, which is what the products below use in every mode. */
static void read_row(const struct head_op *op, const void *map, size_t pixel, size_t channels,
                     float *row) {
    if (op->elem == ELEM_F32) {
        memcpy(row, (const float *)map + pixel * channels, channels * sizeof(float));
        return;
    }
    const uint16_t *from = (const uint16_t *)map + pixel * channels;
    for (size_t c = 0; c < channels; c++)
        row[c] = bf16_to_f32(from[c]);
}

/* Computes the pixel of x that TAP of PIXEL reads; false if it is outside the map. Shifted by one
 * to stay unsigned: coordinates run from 1 to the size. */
static bool neighbour(const struct head_op *op, size_t pixel, size_t tap, size_t *ret) {
    size_t width = (size_t)op->level.width, height = (size_t)op->level.height;
    size_t x = pixel % width + tap % 3, y = pixel / width % height + tap / 3;
    if (x < 1 || x > width || y < 1 || y > height)
        return false;
    *ret = pixel + (tap / 3) * width + tap % 3 - width - 1;
    return true;
}

/* The row of t and the 3x3 neighbourhood in x of sampled pixel U, with zeros outside the map. */
static void gather_pixel(void *context, int thread, size_t u) {
    (void)thread;
    const struct head_op *op = context;
    size_t from;
    read_row(op, op->input[RPN_HEAD_GRAD_T], op->pixel[u], op->out, op->t + u * op->out);
    for (size_t tap = 0; tap < TAPS; tap++) {
        float *row = op->patch + (u * TAPS + tap) * op->in;
        if (neighbour(op, op->pixel[u], tap, &from))
            read_row(op, op->input[RPN_HEAD_GRAD_X], from, op->in, row);
        else
            memset(row, 0, op->in * sizeof(float));
    }
}

/* dx is dense, although few of its pixels are touched: its readers expect a whole map. */
static void clear_share(void *context, struct share share) {
    const struct head_op *op = context;
    size_t pixels = op->pictures * (size_t)(op->level.height * op->level.width), begin, end;
    share_range(share, pixels * op->in * elem_size(op->elem), BACKEND_ALIGNMENT, &begin, &end);
    memset((char *)op->output[RPN_HEAD_GRAD_DX] + begin, 0, end - begin);
}

/* Fills touched and group: all contributions to a pixel of x are adjacent, in order. Up to TAPS * U
 * entries; neighbouring samples touch the same pixels of x. */
static void order_touched(struct head_op *op) {
    size_t found = 0, to;
    for (size_t u = 0; u < op->count; u++)
        for (size_t tap = 0; tap < TAPS; tap++)
            if (neighbour(op, op->pixel[u], tap, &to))
                op->touched[found++] = ~((uint64_t)to << 32 | (u * TAPS + tap));
    (void)rank_select(op->touched, found, found);
    op->groups = 0;
    for (size_t i = 0; i < found; i++)
        if (i == 0 || ~op->touched[i] >> 32 != ~op->touched[i - 1] >> 32)
            op->group[op->groups++] = (uint32_t)i;
    op->group[op->groups] = (uint32_t)found;
}

/* Sums all contributions to one pixel of x, in the order of `touched`, and stores them. Each pixel
 * has one thread, so there are no concurrent additions. */
static void add_to_pixel(void *context, int thread, size_t number) {
    const struct head_op *op = context;
    float *sum = op->sum + (size_t)thread * op->in;
    size_t to = (size_t)(~op->touched[op->group[number]] >> 32) * op->in;
    memset(sum, 0, op->in * sizeof(float));
    for (size_t i = op->group[number]; i < op->group[number + 1]; i++) {
        const float *row = op->dpatch + (size_t)(uint32_t)~op->touched[i] * op->in;
        for (size_t c = 0; c < op->in; c++)
            sum[c] += row[c];
    }
    if (op->elem == ELEM_F32) {
        memcpy((float *)op->output[RPN_HEAD_GRAD_DX] + to, sum, op->in * sizeof(float));
        return;
    }
    for (size_t c = 0; c < op->in; c++)
        ((uint16_t *)op->output[RPN_HEAD_GRAD_DX])[to + c] = bf16_from_f32(sum[c]);
}

/* --- products --------------------------------------------------------------------------------- */

/* C [m, n] = (or +=) A [m, k] (A transposed: [k, m]) * B [k, n]; LDA: row stride of A. */
static int product(bool transposed, size_t m, size_t n, size_t k, const float *a, size_t lda,
                   const float *b, bool add, float *c, struct error *err) {
    if (k == 0) {
        memset(c, 0, m * n * sizeof(float));
        return 0;
    }
    if (m == 0)
        return 0;
    dnnl_status_t status =
        dnnl_sgemm(transposed ? 'T' : 'N', 'N', (dnnl_dim_t)m, (dnnl_dim_t)n, (dnnl_dim_t)k, 1.0F,
                   a, (dnnl_dim_t)lda, b, (dnnl_dim_t)n, add ? 1.0F : 0.0F, c, (dnnl_dim_t)n);
    return status == dnnl_success ? 0 : error_set(err, EXIT_CODE_INTERNAL, "oneDNN's sgemm failed");
}

/* The ReLU between the convolution and the predictors; its mask is recomputed from t. */
static void mask_pixel(void *context, int thread, size_t u) {
    (void)thread;
    const struct head_op *op = context;
    for (size_t i = u * op->out; i < (u + 1) * op->out; i++)
        op->dt[i] = relu_passes_float(op->t[i]) ? op->dt[i] : 0;
}

/* ret[c] = the sum over all rows of column FIRST + c of WIDTH. In double, as biases sum over all
 * samples. */
static void sum_columns(const float *rows, size_t count, size_t width, size_t first, size_t columns,
                        float *ret) {
    for (size_t c = 0; c < columns; c++) {
        double sum = 0;
        for (size_t u = 0; u < count; u++)
            sum += (double)rows[u * width + first + c];
        ret[c] = (float)sum;
    }
}

/* Gradients of the predictors' weights, and of t, unmasked. Both predictors' gradients lie side by
 * side in rows of WIDTH, hence the stride; the second adds to dt. */
static int through_predictors(const struct head_op *op, struct error *err) {
    static const struct {
        size_t first, rows;
        enum rpn_head_grad_slot weight;
        int dw;
    } predictors[] = {
        {0, ANCHOR_SHAPES, RPN_HEAD_GRAD_W_CLS, RPN_HEAD_GRAD_DW_CLS},
        {ANCHOR_SHAPES, 4 * ANCHOR_SHAPES, RPN_HEAD_GRAD_W_BOX, RPN_HEAD_GRAD_DW_BOX}};
    for (size_t i = 0; i < 2; i++) {
        const float *gradient = op->gradient + predictors[i].first;
        size_t rows = predictors[i].rows;
        if (product(true, rows, op->out, op->count, gradient, WIDTH, op->t, false,
                    op->output[predictors[i].dw], err) != 0 ||
            product(false, op->count, op->out, rows, gradient, WIDTH,
                    floats(op, predictors[i].weight), i > 0, op->dt, err) != 0)
            return -1;
        sum_columns(op->gradient, op->count, WIDTH, predictors[i].first, rows,
                    op->output[predictors[i].dw + 1]);
    }
    return 0;
}

/* The order of a backward pass: predictors, ReLU, convolution, and last the scatter into dx.
 * Without samples all products have a depth of 0 and give zeros. */
static int run(void *context, struct error *err) {
    struct head_op *op = context;
    const int threads = op->step.cpu->threads;
    const size_t patch = TAPS * op->in;
    gather_slots(op);
    parallel_units(threads, op->count, gather_pixel, op);
    if (through_predictors(op, err) != 0)
        return -1;
    parallel_units(threads, op->count, mask_pixel, op);
    sum_columns(op->dt, op->count, op->out, 0, op->out, op->output[RPN_HEAD_GRAD_DB_CONV]);
    if (product(true, op->out, patch, op->count, op->dt, op->out, op->patch, false,
                op->output[RPN_HEAD_GRAD_DW_CONV], err) != 0 ||
        product(false, op->count, patch, op->out, op->dt, op->out, floats(op, RPN_HEAD_GRAD_W_CONV),
                false, op->dpatch, err) != 0)
        return -1;
    order_touched(op);
    parallel_run(threads, clear_share, op);
    parallel_units(threads, op->groups, add_to_pixel, op);
    return 0;
}

/* --- binding ---------------------------------------------------------------------------------- */

/* Allocates a part of the scratch; only counts while MEMORY is NULL. */
static void *take(char **memory, size_t *used, size_t bytes) {
    void *part = *memory == NULL ? NULL : *memory + *used;
    *used += backend_aligned(bytes);
    return part;
}

/* Used twice: with MEMORY NULL it only counts, so that `query` and `bind` cannot disagree. */
static size_t lay_out(struct head_op *op, int threads, char *memory) {
    size_t used = 0, slots = op->slots, floats_in = slots * TAPS * op->in * sizeof(float);
    op->order = take(&memory, &used, slots * sizeof(uint64_t));
    op->touched = take(&memory, &used, slots * TAPS * sizeof(uint64_t));
    op->pixel = take(&memory, &used, slots * sizeof(uint32_t));
    op->group = take(&memory, &used, (slots * TAPS + 1) * sizeof(uint32_t));
    op->gradient = take(&memory, &used, slots * WIDTH * sizeof(float));
    op->t = take(&memory, &used, slots * op->out * sizeof(float));
    op->dt = take(&memory, &used, slots * op->out * sizeof(float));
    op->patch = take(&memory, &used, floats_in);
    op->dpatch = take(&memory, &used, floats_in);
    op->sum = take(&memory, &used, (size_t)threads * op->in * sizeof(float));
    return used;
}

/* Everything that follows from shapes and attributes; no addresses. */
static void describe(const struct graph *graph, const struct op *op, struct head_op *ret) {
    const struct anchor_grid grid = detect_grid(&op->attr.detect);
    const struct shape *samples = &cpu_input(graph, op, RPN_HEAD_GRAD_INDEX)->shape;
    const struct tensor *x = cpu_input(graph, op, RPN_HEAD_GRAD_X);
    ret->attr = op->attr.detect;
    ret->level = grid.level[op->attr.detect.level];
    ret->next = ret->level.first + anchor_level_count(&ret->level);
    ret->scale = op->attr.gradient_scale;
    ret->slots = (size_t)shape_count(samples);
    ret->samples = (size_t)samples->dim[1];
    ret->pictures = (size_t)samples->dim[0];
    ret->in = cpu_channels(&x->shape);
    ret->out = cpu_channels(&cpu_input(graph, op, RPN_HEAD_GRAD_T)->shape);
    ret->elem = cpu_elem(x->dtype);
}

/* The scratch is for as many pixels as there are slots, as each may be a pixel of its own on this
 * level. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    struct head_op plan = {0};
    describe(graph, op, &plan);
    ret_needs->scratch = lay_out(&plan, cpu->threads, NULL);
    return 0;
}

/* Addresses are copied whole and read by slot number. The arrays have the lengths of the slot enums
 * (graph/op_rpn.h). */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct head_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    describe(graph, op, bound);
    (void)lay_out(bound, cpu->threads, addresses->scratch);
    memcpy(bound->input, addresses->inputs, sizeof bound->input);
    memcpy(bound->output, addresses->outputs, sizeof bound->output);
    return 0;
}

const struct cpu_operator cpu_rpn_head_grad = {NULL, query, bind};
