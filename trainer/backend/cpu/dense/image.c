/* Conversion of pixels to activations. A byte has 256 values, so the result is looked up in a
 * table per channel. */
#include "trainer/backend/cpu/base/context.h"
#include "trainer/backend/cpu/base/parallel.h"
#include "trainer/math/bf16.h"

enum { COLOURS = 3, LEVELS = 256 };

struct image_op {
    struct cpu_step step;
    size_t pixels, channels;
    const uint8_t *image;
    void *y;
    float wide[COLOURS][LEVELS];
    uint16_t half[COLOURS][LEVELS];
};

/* Channels beyond the colours pad a pixel and are zero. */
static void fill_f32(void *context, struct share share) {
    const struct image_op *op = context;
    size_t begin, end;
    share_range(share, op->pixels, 1, &begin, &end);
    float *y = (float *)op->y + begin * op->channels;
    for (size_t pixel = begin; pixel < end; pixel++, y += op->channels)
        for (size_t c = 0; c < op->channels; c++)
            y[c] = c < COLOURS ? op->wide[c][op->image[pixel * COLOURS + c]] : 0;
}

static void fill_bf16(void *context, struct share share) {
    const struct image_op *op = context;
    size_t begin, end;
    share_range(share, op->pixels, 1, &begin, &end);
    uint16_t *y = (uint16_t *)op->y + begin * op->channels;
    for (size_t pixel = begin; pixel < end; pixel++, y += op->channels)
        for (size_t c = 0; c < op->channels; c++)
            y[c] = c < COLOURS ? op->half[c][op->image[pixel * COLOURS + c]] : 0;
}

static int run_f32(void *context, struct error *err) {
    (void)err;
    struct image_op *op = context;
    parallel_run(op->step.cpu->threads, fill_f32, op);
    return 0;
}

static int run_bf16(void *context, struct error *err) {
    (void)err;
    struct image_op *op = context;
    parallel_run(op->step.cpu->threads, fill_bf16, op);
    return 0;
}

/* Tables are made once, when the operator is bound: mean and deviation are attributes. */
static int bind_image(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses, struct backend_bound *ret_bound,
                      struct error *err) {
    const struct tensor *y = cpu_output(graph, op, 0);
    bool half = y->dtype == DTYPE_BF16;
    struct image_op *bound =
        cpu_step_new(cpu, sizeof *bound, half ? run_bf16 : run_f32, NULL, ret_bound, err);
    if (bound == NULL)
        return -1;
    bound->pixels = cpu_rows(&y->shape);
    bound->channels = cpu_channels(&y->shape);
    bound->image = addresses->inputs[0];
    bound->y = addresses->outputs[0];
    for (int c = 0; c < COLOURS; c++)
        for (int level = 0; level < LEVELS; level++) {
            double value = (level / 255.0 - (double)op->attr.mean[c]) / (double)op->attr.std[c];
            bound->wide[c][level] = (float)value;
            bound->half[c][level] = bf16_from_f32((float)value);
        }
    return 0;
}

const struct cpu_operator cpu_image_normalize = {NULL, NULL, bind_image};
