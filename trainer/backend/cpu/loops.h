/* The CPU backend's own loops over rows of channels (NHWC: a row is a pixel, and `channels` values
 * lie side by side). Each works on rows [begin, end) in one thread; cpu/parallel.h cuts the work.
 *
 * There is one table of functions for each instruction set that the build knows; loops_best() is
 * the widest one that this processor has. Activations are f32 or bf16 (`elem`), everything kept
 * a channel is f32. Pointers named here stay the caller's. A NULL pointer leaves its term out.
 * With `stream`, results bypass the caches: then rows are whole vectors (channels a multiple of
 * 16) and results aligned to 64 bytes.
 *
 * Batch norm: Ioffe and Szegedy 2015; the one-pass sums are taken around a shift near the mean,
 * so that the variance does not cancel. */
#ifndef CPU_LOOPS_H
#define CPU_LOOPS_H

#include "kernels/pointwise.h"

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
 * inputs for a group of outputs, out_group * weight_groups(in) + group. */
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

    /* Adds, over the rows, x - around and its square into sum and square. */
    void (*norm_sums)(const void *x, enum elem elem, size_t channels, const float *around,
                      float *sum, float *square, size_t begin, size_t end);
    void (*norm_forward)(const struct norm_forward *norm, size_t begin, size_t end);
    /* Adds into the sums, and writes dz where asked to. */
    void (*norm_backward_sums)(const struct norm_backward *norm, const struct norm_grad_sums *sums,
                               size_t begin, size_t end);
    void (*norm_backward)(const struct norm_backward *norm, size_t begin, size_t end);

    void (*frozen_backward)(const struct frozen_backward *frozen, size_t begin, size_t end);

    /* A row of 2 * WIDTH pixels + one of WIDTH, of which each is added to two. */
    void (*upsample_add)(const void *large, const void *small, enum elem elem, size_t width,
                         size_t channels, void *y);
    /* Its gradient, a row of WIDTH pixels: sums of four, of two rows of 2 * WIDTH. */
    void (*upsample_grad)(const void *first, const void *second, enum elem elem, size_t width,
                          size_t channels, void *y);

    /* Rows of the output, counted over all images. */
    void (*max_pool)(const struct pool *pool, size_t begin, size_t end);
    /* What dy (and dy2, or NULL) send to row ROW of the input, counted over all images: width x
     * channels values. */
    void (*max_pool_grad_row)(const struct pool *pool, const void *dy, const void *dy2, size_t row,
                              void *dx);

    struct weight_kernel weight, winograd_weight;

    bool (*winograd_supported)(const struct winograd *w);
    size_t (*winograd_scratch)(const struct winograd *w);
    size_t (*winograd_block)(
        const struct winograd *w); /* tiles that share one reading of weights */
    void (*winograd_run)(const struct winograd *w, size_t begin, size_t end);  /* tiles */
    void (*winograd_pack)(const struct own_pack *p, size_t begin, size_t end); /* units */

    bool (*point_supported)(const struct point *p);
    void (*point_run)(const struct point *p, size_t begin, size_t end);     /* POINT_ROWS at most */
    void (*point_pack)(const struct own_pack *p, size_t begin, size_t end); /* units */

    /* y = f(a, b), one of kernels/pointwise.h; b is NULL for those of one tensor. y may lie where a
     * or b does. Over elements. */
    void (*pointwise)(enum pointwise function, const void *a, const void *b, enum elem elem,
                      void *y, size_t begin, size_t end);
    /* From bf16 to f32 and back. Over elements. */
    void (*widen)(const void *half, float *wide, size_t begin, size_t end);
    void (*narrow)(const float *wide, void *half, size_t begin, size_t end);
    /* y = factor * sum of x's rows. */
    void (*sum_rows)(const void *x, enum elem elem, size_t channels, size_t rows, float factor,
                     void *y);
    /* y = sum of x's rows, in f32. */
    void (*sum_columns)(const void *x, enum elem elem, size_t channels, size_t rows, float *y);
    /* Each of y's rows = factor * x. */
    void (*spread_row)(const void *x, enum elem elem, size_t channels, size_t rows, float factor,
                       void *y);

    void (*blend)(const struct blend *b);
    /* y[row] = x's row . w + bias. */
    void (*dot_rows)(const void *x, enum elem elem, size_t channels, size_t rows, const float *w,
                     float bias, float *y);
    /* Each of y's rows = a[row] * w. */
    void (*outer_rows)(const float *a, const float *w, enum elem elem, size_t channels, size_t rows,
                       void *y);
    /* y = sum of a[row] * x's rows, in f32. */
    void (*weigh_rows)(const float *a, const void *x, enum elem elem, size_t channels, size_t rows,
                       float *y);
};

/* The tables this processor can run, best first, NULL at the end. */
const struct loops *const *loops_available(void);
const struct loops *loops_best(void);

#endif
