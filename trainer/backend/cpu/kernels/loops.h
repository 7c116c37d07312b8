/* The CPU backend's own kernels: loops over rows of channels (NHWC: a row is a pixel with
 * `channels` adjacent values). Each works on rows [begin, end) in one thread; base/parallel.h
 * distributes the work.
 *
 * There is one table of functions for each instruction set of the build; loops_best() is the
 * widest one that this processor supports. Activations are f32 or bf16 (`elem`), per-channel
 * values f32. Pointers stay the caller's. A NULL pointer omits its term. With `stream`, results
 * bypass the caches: then rows must be whole vectors (channels a multiple of 16) and results
 * aligned to 64 bytes.
 *
 * Batch norm: Ioffe and Szegedy 2015; the one-pass sums are taken around a shift near the mean, to
 * avoid cancellation in the variance. */
#ifndef TRAINER_BACKEND_CPU_KERNELS_LOOPS_H
#define TRAINER_BACKEND_CPU_KERNELS_LOOPS_H

#include "trainer/backend/cpu/kernels/winograd4.h"
#include "trainer/math/pointwise.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elem { ELEM_F32, ELEM_BF16 };

static inline size_t elem_size(enum elem elem) {
    return elem == ELEM_F32 ? 4 : 2;
}

/* y = [relu](x * scale + shift + other * other_scale + other_shift); without other_scale, `other`
 * is added unscaled. */
struct norm_forward {
    enum elem elem;
    size_t channels;
    bool relu, stream;
    const void *x, *other;
    const float *scale, *shift, *other_scale, *other_shift;
    void *y;
};

/* Gradient through that: dz = (dy + dy2) where the ReLU passes. With `other` (added unscaled
 * without other_scale) there is a ReLU, and its result is recomputed; without, the mask is y > 0
 * if y is given. dz may be dy. */
struct norm_backward {
    enum elem elem;
    size_t channels;
    bool relu;
    const void *dy, *dy2, *y, *x, *other;
    const float *scale, *shift, *other_scale, *other_shift;
    const float *mean, *other_mean;
    void *dz; /* the masked sum is written here */

    /* Second pass: dx = dz * a + x * b + c, and the same for the other normalized input. */
    const float *a, *b, *c, *other_a, *other_b, *other_c;
    void *dx, *dother;
};

/* Gradient through a norm with constant statistics: g = dy where y > 0 (all of it without y), dx =
 * g * scale; dside = g * side_scale (or g), if requested. */
struct frozen_backward {
    enum elem elem;
    size_t channels;
    const void *dy, *y;
    const float *scale, *side_scale;
    void *dx, *dside;
};

/* Per-channel sums over rows: of dz, of dz * (x - mean) and of dz * (other - other_mean). */
struct norm_grad_sums {
    float *dz, *dz_x, *dz_other;
};

/* Pooling of [images, height, width, channels] by a square window, of which none is entirely
 * outside. Of a maximum, cells outside the image count as minus infinity, and its input may be
 * relu(x * scale + shift); of a mean, they count as 0. */
struct pool {
    enum elem elem;
    size_t channels, height, width, out_height, out_width;
    size_t kernel, stride, pad;
    const void *x; /* of a mean's gradient: dy */
    const float *scale, *shift;
    void *y;
    uint8_t *index; /* of the first maximum in its window, row * kernel + column; or NULL */
};

/* One thread's part of a convolution's weight gradient: the positions [begin, end) of the sum and
 * the units [unit_begin, unit_end) of the result. Computed directly, positions are output pixels,
 * counted over all images, and a unit is one group of input channels at one tap, tap *
 * weight_groups(in) + group. With Winograd, positions are tiles of 2x2 output pixels, and a unit
 * is a group of inputs for a group of outputs, out_group * weight_groups(in) + group. As a matrix
 * product, positions are output pixels, and a unit is a group of outputs for a group of (tap,
 * input), out_group * groups of columns + group. */
struct weight_part {
    enum elem elem;
    size_t height, width, in, out_height, out_width, out;
    size_t kernel, taps, stride, pad; /* taps: kernel * kernel */
    const void *x, *dy;
    size_t begin, end, unit_begin, unit_end;
    float *dw;     /* [out][taps][in]; the units are overwritten */
    void *scratch; /* scratch() bytes, aligned to 64 */
};

/* One implementation of it. */
struct weight_kernel {
    /* Returns true if this instruction set supports this shape; NULL: it does not have the kernel,
     * and the others are NULL as well. */
    bool (*supported)(const struct weight_part *part);
    size_t (*scratch)(const struct weight_part *part);
    void (*run)(const struct weight_part *part);
};

static inline bool weight_kernel_supports(const struct weight_kernel *kernel,
                                          const struct weight_part *part) {
    return kernel->supported != NULL && kernel->supported(part);
}

enum { WEIGHT_GROUP = 64 };

static inline size_t weight_groups(size_t channels) {
    return (channels + WEIGHT_GROUP - 1) / WEIGHT_GROUP;
}

/* Operations on the f32 sums of a bf16 convolution before they are rounded to y; NULL omits a
 * term. */
struct bf16_end {
    const float *bias; /* [out] */
    const void *side;  /* bf16, like y */
    bool relu;
};

/* 3x3 convolution of stride 1 and padding 1 in bf16, of [images, height, width, in]: its output is
 * cut into tiles of 2x2, counted over all images. */
struct winograd {
    size_t images, height, width, in, out;
    const void *x;
    const void *weights; /* winograd_weight_bytes(), packed by winograd_pack() */
    void *y;
    struct bf16_end end;
    void *scratch; /* winograd_scratch() bytes, aligned to 64 */
};

static inline size_t winograd_tiles(size_t pixels) {
    return (pixels + 1) / 2;
}

static inline size_t winograd_weight_bytes(size_t in, size_t out) {
    return 16 * in * out * sizeof(uint16_t);
}

/* 1x1 convolution of stride 1 in bf16: y [rows][out] = x [rows][in] times weights, then `end`. */
struct point {
    size_t rows, in, out;
    const void *x;
    const void *weights; /* point_weight_bytes(), packed by point_pack() */
    void *y;
    struct bf16_end end;
    /* Other rows of `out` channels in bf16 that will be read next (or NULL): they are prefetched
     * between the products, as are the following rows of x. */
    const void *soon[3];
};

enum { POINT_ROWS = 56 }; /* at once, at most */

static inline size_t point_weight_bytes(size_t in, size_t out) {
    return in * out * sizeof(uint16_t);
}

/* From f32 weights [out][taps][in] or, for the data gradient (where `in` are the forward outputs),
 * from [in][taps][out] with the taps rotated by 180 degrees; 9 taps for winograd_pack(), 1 for
 * point_pack(). */
struct own_pack {
    size_t in, out;
    bool gradient;
    const float *w;
    void *weights;
};

enum { PACK_OUTS = 64, PACK_INS = 32 }; /* of one unit of packing */

static inline size_t pack_units(const struct own_pack *p) {
    return p->out / PACK_OUTS * (p->in / PACK_INS);
}

/* A tap of a convolution: the pixel it reads, relative to step * position. */
struct conv_tap {
    int y, x;
};

enum { CONV_TAPS_MAX = 9 };

/* f32 convolution as a matrix product, or one class of positions of a strided convolution's data
 * gradient: at each position of a grid over each image it reads the pixels given by the taps (0
 * outside) and writes one pixel of y. Channels of both are multiples of 16. */
struct conv_rows {
    size_t height, width, in;               /* x: [images][height][width][in] */
    size_t images, grid_height, grid_width; /* positions */
    size_t step;                            /* distance in x between positions */
    size_t taps;                            /* with none, y is 0 */
    struct conv_tap tap[CONV_TAPS_MAX];
    size_t out, y_height, y_width;  /* y: [images][y_height][y_width][out], */
    size_t y_step, y_row, y_column; /* written at y_step * position + (y_row, y_column) */
    const float *x;
    const float *weights; /* conv_rows_weights() floats, packed by conv_rows_pack() */
    float *y;
    /* Added to y unless NULL: one value per channel, and a tensor like y. Then the ReLU. */
    const float *bias, *side;
    bool relu;
    void *scratch; /* conv_rows_scratch() bytes of this thread, aligned to 64 */
};

static inline size_t conv_rows_positions(const struct conv_rows *c) {
    return c->images * c->grid_height * c->grid_width;
}

/* From f32 weights [out][kernel_taps][in] or, for the data gradient (where `in` are the forward
 * outputs), from [in][kernel_taps][out]; only the listed taps. */
struct conv_rows_pack {
    size_t in, out, kernel_taps, taps;
    size_t tap[CONV_TAPS_MAX];
    bool gradient;
    const float *w;
    float *weights;
};

/* Weighted sums of rows of channels along two axes: item i of an axis goes to place[i] and uses
 * the input taps first[i] .. first[i + 1] - 1. */
struct blend_tap {
    int32_t at;
    float weight;
};

struct blend_axis {
    size_t count;
    const int32_t *place, *first;
    const struct blend_tap *taps;
};

/* For each pair of items: to[place y][place x] = the sum over both axes' taps, or that is added to
 * it. f32 into f32, bf16 into either. */
struct blend {
    enum elem from_elem, to_elem;
    size_t channels;
    const void *from;
    size_t from_row, to_row; /* elements between rows */
    struct blend_axis y, x;
    bool add;
    void *to;
};

struct loops {
    const char *name;
    size_t lanes; /* f32 values of a register: 16 with AVX-512, 8 with AVX2, else 4 */
    bool tiles;   /* f32 products use AMX (loop_split.h) */
#define LOOP_FUNCTION(type, name, arguments) type(*name) arguments;
#define LOOP_WEIGHT(name) struct weight_kernel name;
#include "trainer/backend/cpu/kernels/loops.def"
#undef LOOP_FUNCTION
#undef LOOP_WEIGHT
};

/* Returns true if this instruction set has the kernels of bf16 (loops.def) for that shape. */
static inline bool loops_have_point(const struct loops *loops, const struct point *p) {
    return loops->point_supported != NULL && loops->point_supported(p);
}

static inline bool loops_have_winograd(const struct loops *loops, const struct winograd *w) {
    return loops->winograd_supported != NULL && loops->winograd_supported(w);
}

/* The tables this processor can run, best first, NULL-terminated. The first call requests AMX's
 * registers from the kernel, which grants them only on request. */
const struct loops *const *loops_available(void);
/* Returns the table itself or, for one with tiles, the best one without. */
const struct loops *loops_plain(const struct loops *loops);
/* Returns the widest of them, but no wider than oneDNN's limit: ONEDNN_MAX_CPU_ISA=AVX2 limits
 * both. */
const struct loops *loops_best(void);

#endif
