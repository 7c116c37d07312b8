/* Resizing of pictures: normalized by a table of the 256 levels, one row of the canvas at a time
 * per thread; the source of each column is computed once per picture. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/graph/op_roi.h"
#include "trainer/math/bf16.h"
#include "trainer/math/bilinear.h"
#include "trainer/math/image_size.h"

enum { COLOURS = 3, LEVELS = 256 };

/* A column of the canvas: byte offsets in a source row of its two pixels. */
struct column {
    int32_t low, high;
    float fraction;
};

struct resize_op {
    struct cpu_step step;
    enum elem elem;
    size_t images, height, width, channels, bytes;
    const uint8_t *image;
    const int32_t *size;
    void *y;
    struct column *columns; /* of each picture, in scratch */
    int place[COLOURS];     /* of each channel in a pixel of the source */
    float value[COLOURS][LEVELS];
};

/* A flip is done here: positions are mirrored in the source, and rows need not know of it. */
static void find_columns(void *context, int thread, size_t n) {
    const struct resize_op *op = context;
    const int32_t *size = op->size + n * IMAGE_SIZE_FIELDS;
    struct column *columns = op->columns + n * op->width;
    int32_t source = size[IMAGE_SIZE_SOURCE_W];
    float scale = bilinear_scale(source, size[IMAGE_SIZE_W]);
    (void)thread;
    for (int32_t j = 0; j < size[IMAGE_SIZE_W]; j++) {
        struct bilinear_tap tap = bilinear_source(j, scale, source);
        bool flip = size[IMAGE_SIZE_FLIP] != 0;
        columns[j].low = COLOURS * (flip ? source - 1 - tap.low : tap.low);
        columns[j].high = COLOURS * (flip ? source - 1 - tap.high : tap.high);
        columns[j].fraction = tap.fraction;
    }
}

/* Row ROW of picture N in f32. */
static void fill_row(const struct resize_op *op, size_t n, size_t row, float *y) {
    const int32_t *size = op->size + n * IMAGE_SIZE_FIELDS;
    const struct column *columns = op->columns + n * op->width;
    int32_t source = size[IMAGE_SIZE_SOURCE_H];
    struct bilinear_tap tap =
        bilinear_source((int32_t)row, bilinear_scale(source, size[IMAGE_SIZE_H]), source);
    size_t stride = COLOURS * (size_t)size[IMAGE_SIZE_SOURCE_W];
    const uint8_t *low = op->image + n * op->bytes + (size_t)tap.low * stride;
    const uint8_t *high = op->image + n * op->bytes + (size_t)tap.high * stride;
    for (size_t j = 0; j < (size_t)size[IMAGE_SIZE_W]; j++)
        for (int c = 0; c < COLOURS; c++) {
            const float *value = op->value[c];
            const struct column *k = &columns[j];
            int a = k->low + op->place[c], b = k->high + op->place[c];
            float above = (1 - k->fraction) * value[low[a]] + k->fraction * value[low[b]];
            float below = (1 - k->fraction) * value[high[a]] + k->fraction * value[high[b]];
            y[j * op->channels + (size_t)c] = (1 - tap.fraction) * above + tap.fraction * below;
        }
}

static size_t row_bytes(size_t width, size_t channels) {
    return backend_aligned(width * channels * sizeof(float));
}

/* In f32 the row is written where it belongs, otherwise into the thread's buffer, to be rounded
 * from there. What the picture does not cover stays zero, also a picture that is not valid. */
static void fill_rows(void *context, int thread, size_t unit) {
    const struct resize_op *op = context;
    size_t n = unit / op->height, row = unit % op->height, count = op->width * op->channels;
    const int32_t *size = op->size + n * IMAGE_SIZE_FIELDS;
    void *to = (char *)op->y + unit * count * elem_size(op->elem);
    char *rows = (char *)(op->columns + op->images * op->width);
    float *y = op->elem == ELEM_F32
                   ? to
                   : (float *)(void *)(rows + (size_t)thread * row_bytes(op->width, op->channels));
    memset(y, 0, count * sizeof *y);
    if (size[IMAGE_SIZE_VALID] != 0 && row < (size_t)size[IMAGE_SIZE_H])
        fill_row(op, n, row, y);
    if (op->elem == ELEM_BF16)
        op->step.cpu->loops->narrow(y, to, 0, count);
}

static int run(void *context, struct error *err) {
    (void)err;
    struct resize_op *op = context;
    parallel_units(op->step.cpu->threads, op->images, find_columns, op);
    parallel_units(op->step.cpu->threads, op->images * op->height, fill_rows, op);
    return 0;
}

/* Columns of all pictures first, then a row of floats per thread. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    (void)err;
    const struct shape *y = &cpu_output(graph, op, IMAGE_RESIZE_Y)->shape;
    ret_needs->scratch = (size_t)(y->dim[0] * y->dim[2]) * sizeof(struct column) +
                         (size_t)cpu->threads * row_bytes((size_t)y->dim[2], (size_t)y->dim[3]);
    return 0;
}

/* A model with its pixels in the order BGR takes levels as they are, others divided by 255. */
static void set_levels(struct resize_op *bound, const struct op_attr *attr) {
    bool bgr = (attr->detect.flags & DETECT_PIXELS_BGR) != 0;
    for (int c = 0; c < COLOURS; c++) {
        bound->place[c] = bgr ? COLOURS - 1 - c : c;
        for (int level = 0; level < LEVELS; level++)
            bound->value[c][level] =
                (float)(((bgr ? level : level / 255.0) - (double)attr->mean[c]) /
                        (double)attr->std[c]);
    }
}

static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct resize_op *bound = cpu_step_new(cpu, sizeof *bound, run, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    const struct tensor *y = cpu_output(graph, op, IMAGE_RESIZE_Y);
    bound->elem = cpu_elem(y->dtype);
    bound->images = (size_t)y->shape.dim[0];
    bound->height = (size_t)y->shape.dim[1];
    bound->width = (size_t)y->shape.dim[2];
    bound->channels = (size_t)y->shape.dim[3];
    bound->bytes = (size_t)cpu_input(graph, op, IMAGE_RESIZE_IMAGE)->shape.dim[1];
    bound->image = addresses->inputs[IMAGE_RESIZE_IMAGE];
    bound->size = addresses->inputs[IMAGE_RESIZE_SIZE];
    bound->y = addresses->outputs[IMAGE_RESIZE_Y];
    bound->columns = addresses->scratch;
    set_levels(bound, &op->attr);
    return 0;
}

const struct cpu_operator cpu_image_resize = {NULL, query, bind};
