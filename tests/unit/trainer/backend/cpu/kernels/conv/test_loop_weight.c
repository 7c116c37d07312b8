#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

struct shape_case {
    size_t images, height, width, in, out, kernel, stride, pad;
};

/* Groups of one to four panels, windows that leave the image, odd counts of pixels, and more pixels
 * than a block of the kernel holds. */
static const struct shape_case shapes[] = {
    {1, 1, 1, 16, 16, 1, 1, 0},    {1, 3, 5, 32, 16, 3, 1, 1},   {2, 7, 6, 48, 32, 3, 2, 1},
    {1, 5, 5, 80, 48, 1, 2, 0},    {3, 15, 14, 64, 16, 1, 1, 0}, {1, 9, 9, 16, 16, 5, 2, 2},
    {2, 20, 17, 144, 16, 3, 1, 1}, {1, 5, 3, 32, 272, 1, 1, 0},  {1, 3, 5, 16, 528, 1, 1, 0},
};
enum { CASES = sizeof(shapes) / sizeof(shapes[0]) };

static struct weight_part part_of(const struct shape_case *s, enum elem elem) {
    struct weight_part part = {.elem = elem,
                               .height = s->height,
                               .width = s->width,
                               .in = s->in,
                               .out_height = (s->height + 2 * s->pad - s->kernel) / s->stride + 1,
                               .out_width = (s->width + 2 * s->pad - s->kernel) / s->stride + 1,
                               .out = s->out,
                               .kernel = s->kernel,
                               .taps = s->kernel * s->kernel,
                               .stride = s->stride,
                               .pad = s->pad};
    part.end = s->images * part.out_height * part.out_width;
    part.unit_end = part.taps * weight_groups(s->in);
    return part;
}

/* Adds into SUM[out][tap][in] what one output pixel gives. */
static void add_pixel(const struct weight_part *p, size_t pixel, double *sum) {
    size_t j = pixel % p->out_width, i = pixel / p->out_width % p->out_height;
    size_t image = pixel / p->out_width / p->out_height;
    for (size_t tap = 0; tap < p->taps; tap++) {
        size_t row = i * p->stride + tap / p->kernel, column = j * p->stride + tap % p->kernel;
        if (row < p->pad || row - p->pad >= p->height || column < p->pad ||
            column - p->pad >= p->width)
            continue;
        size_t at = (image * p->height + row - p->pad) * p->width + column - p->pad;
        for (size_t o = 0; o < p->out; o++)
            for (size_t c = 0; c < p->in; c++)
                sum[(o * p->taps + tap) * p->in + c] +=
                    (double)loop_get(p->dy, pixel * p->out + o, p->elem) *
                    (double)loop_get(p->x, at * p->in + c, p->elem);
    }
}

static void check_case(const struct weight_kernel *kernel, struct weight_part part) {
    size_t count = part.out * part.taps * part.in;
    CU_ASSERT_FATAL(kernel->supported(&part));
    void *x = loop_values(part.end / part.out_height / part.out_width * part.height * part.width *
                              part.in,
                          part.elem, 0, 1);
    void *dy = loop_values(part.end * part.out, part.elem, 0, 2);
    float *dw = loop_values(count, ELEM_F32, 5, 3);
    float *scratch = loop_unwritten(kernel->scratch(&part) / sizeof(float));
    double *sum = calloc(count, sizeof(double));
    CU_ASSERT_PTR_NOT_NULL_FATAL(sum);
    part.x = x;
    part.dy = dy;
    part.dw = dw;
    part.scratch = scratch;
    for (size_t pixel = 0; pixel < part.end; pixel++)
        add_pixel(&part, pixel, sum);
    struct weight_part half = part;
    half.unit_end = part.unit_end / 2;
    kernel->run(&half);
    half.unit_begin = half.unit_end;
    half.unit_end = part.unit_end;
    kernel->run(&half);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT(loop_near(dw[i], sum[i], ELEM_F32, (double)part.end));
    free(x);
    free(dy);
    free(dw);
    free(scratch);
    free(sum);
}

static bool check_elem(enum elem elem) {
    struct weight_part part = part_of(&shapes[0], elem);
    bool any = false;
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        if (!weight_kernel_supports(&(*loops)->weight, &part))
            continue;
        any = true;
        for (size_t i = 0; i < CASES; i++)
            check_case(&(*loops)->weight, part_of(&shapes[i], elem));
    }
    return any;
}

static void sums_over_pixels_are_those_of_plain_loops(void) {
    bool wide = check_elem(ELEM_F32), half = check_elem(ELEM_BF16);
    if (!wide && !half)
        unit_skip("this processor has no AVX-512");
}

static size_t gemm_units(const struct loops *loops, const struct weight_part *part) {
    size_t group = loops->gemm_weight_group(), columns = part->taps * part->in;
    size_t across = part->in % 16 == 0 ? (columns + group - 1) / group : 1;
    return (part->out + group - 1) / group * across;
}

static void products_of_matrices_are_those_of_plain_loops(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < CASES; i++) {
            struct weight_part part = part_of(&shapes[i], ELEM_F32);
            part.unit_end = gemm_units(*loops, &part);
            check_case(&(*loops)->gemm_weight, part);
        }
}

/* Few channels: windows that leave the picture on all sides, and one that is wider than it. */
static void all_taps_of_few_channels_are_taken_together(void) {
    static const struct shape_case pictures[] = {
        {2, 19, 23, 3, 64, 7, 2, 3}, {1, 3, 2, 3, 16, 7, 2, 3},  {2, 11, 13, 4, 32, 3, 1, 1},
        {1, 6, 5, 1, 16, 1, 1, 0},   {3, 9, 17, 5, 16, 5, 1, 2},
    };
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++) {
            struct weight_part part = part_of(&pictures[i], ELEM_F32);
            part.unit_end = gemm_units(*loops, &part);
            check_case(&(*loops)->gemm_weight, part);
        }
}

static void other_shapes_are_left_to_onednn(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        struct weight_part part = part_of(&shapes[0], ELEM_F32);
        part.in = 3;
        CU_ASSERT_FALSE(weight_kernel_supports(&(*loops)->weight, &part));
        part.in = 16;
        part.out = 20;
        CU_ASSERT_FALSE(weight_kernel_supports(&(*loops)->weight, &part));
    }
}

UNIT_SUITE("cpu.loop_weight", UNIT(sums_over_pixels_are_those_of_plain_loops),
           UNIT(products_of_matrices_are_those_of_plain_loops),
           UNIT(all_taps_of_few_channels_are_taken_together), UNIT(other_shapes_are_left_to_onednn))
