/* The CPU backend's own loops over rows of channels (NHWC: a row is a pixel, and `channels` values
 * lie side by side). Each works on rows [begin, end) in one thread; base/parallel.h cuts the
 * work.
 *
 * There is one table of functions for each instruction set that the build knows; loops_best() is
 * the widest one that this processor has. Activations are f32 or bf16 (`elem`), everything kept
 * a channel is f32. Pointers named here stay the caller's. A NULL pointer leaves its term out.
 * With `stream`, results bypass the caches: then rows are whole vectors (channels a multiple of
 * 16) and results aligned to 64 bytes.
 *
 * Batch norm: Ioffe and Szegedy 2015; the one-pass sums are taken around a shift near the mean,
 * so that the variance does not cancel. */
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
 * is added as it is. */
struct norm_forward {
    enum elem elem;
    size_t channels;
    bool relu, stream;
    const void *x, *other;
    const float *scale, *shift, *other_scale, *other_shift;
    void *y;
};

/* Gradient through that: dz = (dy + dy2) where the ReLU let pass. With `other` (added as it is
 * without other_scale) there is a ReLU, and its result is computed again; without, y > 0 tells
 * where y is given. dz may lie where dy does. */
struct norm_backward {
    enum elem elem;
    size_t channels;
    bool relu;
    const void *dy, *dy2, *y, *x, *other;
    const float *scale, *shift, *other_scale, *other_shift;
    const float *mean, *other_mean;
    void *dz; /* the masked sum is kept here */

    /* Second pass: dx = dz * a + x * b + c, and the same for the other normalised input. */
    const float *a, *b, *c, *other_a, *other_b, *other_c;
    void *dx, *dother;
};

/* Gradient through a norm whose statistics are constants: g = dy where y > 0 (all of it without y),
 * dx = g * scale; dside = g * side_scale (g without that), where it is wanted. */
struct frozen_backward {
    enum elem elem;
    size_t channels;
    const void *dy, *y;
    const float *scale, *side_scale;
    void *dx, *dside;
};

/* Sums a channel over rows: of dz, of dz * (x - mean) and of dz * (other - other_mean). */
struct norm_grad_sums {
    float *dz, *dz_x, *dz_other;
};

/* Max pooling of [images, height, width, channels] by a square window; cells outside the image
 * count as minus infinity, no window is all outside. Its input may be relu(x * scale + shift). */
struct pool {
    enum elem elem;
    size_t channels, height, width, out_height, out_width;
    size_t kernel, stride, pad;
    const void *x;
    const float *scale, *shift;
    void *y;
    uint8_t *index; /* of the first maximum in its window, row * kernel + column; or NULL */
};

/* One thread's part of a convolution's weight gradient: the positions [begin, end) of the sum and
 * of the result the units [unit_begin, unit_end). Directly, positions are output pixels, counted
 * over all images, and a unit is one group of input channels at one tap, tap * weight_groups(in) +
 * group. By Winograd's products positions are tiles of 2x2 output pixels, and a unit is a group of
 * inputs for a group of outputs, out_group * weight_groups(in) + group. By a product of matrices
 * positions are output pixels, and a unit is a group of outputs for a group of (tap, input),
 * out_group * groups of columns + group. */
struct weight_part {
    enum elem elem;
    size_t height, width, in, out_height, out_width, out;
    size_t kernel, taps, stride, pad; /* taps: kernel * kernel */
    const void *x, *dy;
    size_t begin, end, unit_begin, unit_end;
    float *dw;     /* [out][taps][in]; the units are set */
    void *scratch; /* scratch() bytes, aligned to 64 */
};

/* One way to make it. */
struct weight_kernel {
    /* Whether this instruction set has it for this shape. */
    bool (*supported)(const struct weight_part *part);
    size_t (*scratch)(const struct weight_part *part);
    void (*run)(const struct weight_part *part);
};

enum { WEIGHT_GROUP = 64 };

static inline size_t weight_groups(size_t channels) {
    return (channels + WEIGHT_GROUP - 1) / WEIGHT_GROUP;
}

/* A 3x3 convolution of stride 1 and padding 1 in bf16, of [images, height, width, in]: its output
 * is cut into tiles of 2x2, counted over all images. */
struct winograd {
    size_t images, height, width, in, out;
    const void *x;
    const void *weights; /* winograd_weight_bytes(), as winograd_pack() leaves them */
    void *y;
    void *scratch; /* winograd_scratch() bytes, aligned to 64 */
};

static inline size_t winograd_tiles(size_t pixels) {
    return (pixels + 1) / 2;
}

static inline size_t winograd_weight_bytes(size_t in, size_t out) {
    return 16 * in * out * sizeof(uint16_t);
}

/* A 1x1 convolution of stride 1 in bf16: y [rows][out] = x [rows][in] times weights. */
struct point {
    size_t rows, in, out;
    const void *x;
    const void *weights; /* point_weight_bytes(), as point_pack() leaves them */
    void *y;
    /* Other rows of `out` channels in bf16 that will be read next (or NULL): they are asked for
     * between the products, and so are the following rows of x. */
    const void *soon[3];
};

enum { POINT_ROWS = 56 }; /* at once, at most */

static inline size_t point_weight_bytes(size_t in, size_t out) {
    return in * out * sizeof(uint16_t);
}

/* From f32 weights [out][taps][in] or, for the data gradient (whose `in` are the forward outputs),
 * from [in][taps][out] with the taps turned round; 9 taps for winograd_pack(), 1 for point_pack().
 */
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

/* Of a picture that a convolution reads: which pixel beside step * position. */
struct conv_tap {
    int y, x;
};

enum { CONV_TAPS_MAX = 9 };

/* A convolution in f32 as a product of matrices, or one of the classes of places of which a strided
 * one's data gradient consists: at each position of a grid over each image it reads the pixels that
 * the taps name (those outside are 0) and writes one pixel of y. Channels of both are multiples of
 * 16. */
struct conv_rows {
    size_t height, width, in;               /* x: [images][height][width][in] */
    size_t images, grid_height, grid_width; /* positions */
    size_t step;                            /* of x from position to position */
    size_t taps;                            /* without any, y is 0 */
    struct conv_tap tap[CONV_TAPS_MAX];
    size_t out, y_height, y_width;  /* y: [images][y_height][y_width][out], */
    size_t y_step, y_row, y_column; /* written at y_step * position + (y_row, y_column) */
    const float *x;
    const float *weights; /* conv_rows_weights() floats, as conv_rows_pack() leaves them */
    float *y;
    /* Added to y unless NULL: a value a channel, and a tensor like y. Then y is rectified. */
    const float *bias, *side;
    bool relu;
    void *scratch; /* conv_rows_scratch() bytes of this thread, aligned to 64 */
};

static inline size_t conv_rows_positions(const struct conv_rows *c) {
    return c->images * c->grid_height * c->grid_width;
}

/* From f32 weights [out][kernel_taps][in] or, for the data gradient (whose `in` are the forward
 * outputs), from [in][kernel_taps][out]; of these taps those that are listed. */
struct conv_rows_pack {
    size_t in, out, kernel_taps, taps;
    size_t tap[CONV_TAPS_MAX];
    bool gradient;
    const float *w;
    float *weights;
};

/* Weighted sums of rows of channels along two axes: item i of an axis goes to place[i] and takes
 * the taps first[i] .. first[i + 1] - 1 of what it is made from. */
struct blend_tap {
    int32_t at;
    float weight;
};

struct blend_axis {
    size_t count;
    const int32_t *place, *first;
    const struct blend_tap *taps;
};

/* Each pair of items: to[place y][place x] = the sum over both taps, or that is added to it. Of f32
 * into f32, of bf16 into either. */
struct blend {
    enum elem from_elem, to_elem;
    size_t channels;
    const void *from;
    size_t from_row, to_row; /* elements from row to row */
    struct blend_axis y, x;
    bool add;
    void *to;
};

struct loops {
    const char *name;
    size_t lanes; /* f32 values of a register: 16 with AVX-512, 8 with AVX2, else 4 */
    bool tiles;   /* products in f32 are made on AMX (loop_split.h) */
#define LOOP_FUNCTION(type, name, arguments) type(*name) arguments;
#define LOOP_WEIGHT(name) struct weight_kernel name;
#include "trainer/backend/cpu/kernels/loops.def"
#undef LOOP_FUNCTION
#undef LOOP_WEIGHT
};

/* The tables this processor can run, best first, NULL at the end. The first call asks the kernel
 * for AMX's registers, which it gives to a process that asked. */
const struct loops *const *loops_available(void);
/* The table itself or, of one with tiles, the best one without. */
const struct loops *loops_plain(const struct loops *loops);
/* The widest of them, no wider than oneDNN is held to: ONEDNN_MAX_CPU_ISA=AVX2 holds both. */
const struct loops *loops_best(void);

#endif
