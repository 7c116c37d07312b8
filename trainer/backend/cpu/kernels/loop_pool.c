#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

/* Maximum and mean over windows, for one thread's rows. Channels are vectorized, as they are
 * adjacent in memory; windows and pixels are plain loops. The last vector of a row may be partial.
 *
 * The index that a maximum leaves, one byte, is its place in the window (row * kernel + column), so
 * that the gradient finds its pixel by comparing bytes. Gradients are computed per pixel of the
 * large image: it visits the few windows that contain it, adds up what is its own, and is written
 * once. */

VEC_INLINE vecu bytes_load(const uint8_t *base, size_t at, size_t n) {
    vecb bytes = {0};
    memcpy(&bytes, base + at, n);
    return vec_from_u8(bytes);
}

/* Indices are below 256, so each fits a byte. */
VEC_INLINE void bytes_store(uint8_t *base, size_t at, vecu value, size_t n) {
    vecb bytes = vec_to_u8(value);
    memcpy(base + at, &bytes, n);
}

/* Position of an output pixel in its image, and the window's rows and columns inside the image. */
struct window {
    size_t top, left; /* of the window, plus pad */
    size_t row_begin, row_end, column_begin, column_end;
};

/* Windows at the border are cut here, so that the inner loops need no test. No window is entirely
 * outside (loops.h), hence no range is empty. */
VEC_INLINE struct window window_at(const struct pool *p, size_t out_row, size_t out_column) {
    struct window w = {.top = out_row * p->stride, .left = out_column * p->stride};
    w.row_begin = w.top < p->pad ? p->pad - w.top : 0;
    w.column_begin = w.left < p->pad ? p->pad - w.left : 0;
    size_t rows = p->height + p->pad - w.top, columns = p->width + p->pad - w.left;
    w.row_end = p->kernel < rows ? p->kernel : rows;
    w.column_end = p->kernel < columns ? p->kernel : columns;
    return w;
}

/* Maximum of one window for N channels from C on. The first cell always counts, and a NaN, once it
 * is the best, stays: as in math/pool.h. The norm's scale and shift, if given, are applied to each
 * cell that is read, with a ReLU. */
VEC_INLINE void pool_vector(const struct pool *p, const struct window *w, enum elem elem,
                            size_t image, size_t out, size_t c, size_t n) {
    vecf scale = {0}, shift = {0};
    if (p->scale != NULL) {
        scale = vec_load_n(p->scale, c, n, ELEM_F32);
        shift = vec_load_n(p->shift, c, n, ELEM_F32);
    }
    vecf best = {0};
    vecu where = {0};
    bool first = true;
    for (size_t i = w->row_begin; i < w->row_end; i++)
        for (size_t j = w->column_begin; j < w->column_end; j++) {
            size_t row = image * p->height + w->top + i - p->pad;
            size_t pixel = row * p->width + w->left + j - p->pad;
            vecf v = vec_load_n(p->x, pixel * p->channels + c, n, elem);
            if (p->scale != NULL)
                v = vec_relu(v * scale + shift);
            vecu here = (vecu){0} + (uint32_t)(i * p->kernel + j);
            /* pool_exceeds() of math/pool.h */
            veci better = first ? (veci){0} - 1 : ~(v <= best) & (best == best);
            best = vec_select(better, v, best);
            where = (vecu)vec_select(better, (vecf)here, (vecf)where);
            first = false;
        }
    vec_store_n(p->y, out * p->channels + c, best, n, elem);
    if (p->index != NULL)
        bytes_store(p->index, out * p->channels + c, where, n);
}

/* ELEM is a constant in each caller, so two loops result, one for each type. */
VEC_INLINE void pool_rows(const struct pool *pool, enum elem elem, size_t begin, size_t end) {
    const struct pool p = *pool; /* a copy stays in registers */
    for (size_t row = begin; row < end; row++)
        for (size_t column = 0; column < p.out_width; column++) {
            struct window w = window_at(&p, row % p.out_height, column);
            size_t image = row / p.out_height, out = row * p.out_width + column, c = 0;
            for (; c + LANES <= p.channels; c += LANES)
                pool_vector(&p, &w, elem, image, out, c, LANES);
            if (c < p.channels)
                pool_vector(&p, &w, elem, image, out, c, p.channels - c);
        }
}

void LOOP(max_pool)(const struct pool *pool, size_t begin, size_t end) {
    if (pool->elem == ELEM_F32)
        pool_rows(pool, ELEM_F32, begin, end);
    else
        pool_rows(pool, ELEM_BF16, begin, end);
}

/* Computes the windows [*first, *last) of an axis that contain input cell AT. A window w covers the
 * padded cells [w * stride, w * stride + kernel). */
VEC_INLINE void windows_over(const struct pool *p, size_t at, size_t outputs, size_t *first,
                             size_t *last) {
    size_t padded = at + p->pad;
    *first = padded < p->kernel ? 0 : (padded - p->kernel) / p->stride + 1;
    *last = padded / p->stride + 1;
    if (*last > outputs)
        *last = outputs;
}

/* The gradients of a pooled pixel: dy, and dy2 added if given. */
struct pool_gradient {
    const void *dy, *dy2;
};

/* The gradient of window OUT in the lanes where the maximum is this pixel, else 0. DY2 is the
 * gradient of a second reader of the pooled image. */
VEC_INLINE vecf window_sum(const struct pool *p, const struct pool_gradient *g, enum elem elem,
                           size_t out, size_t cell, size_t c, size_t n) {
    vecu where = bytes_load(p->index, out * p->channels + c, n);
    vecf dy = vec_load_n(g->dy, out * p->channels + c, n, elem);
    if (g->dy2 != NULL)
        dy += vec_load_n(g->dy2, out * p->channels + c, n, elem);
    return vec_keep(where == (vecu){0} + (uint32_t)cell, dy);
}

/* The windows that contain one input pixel: the first of the output's rows and columns and their
 * number, and the pixel's cell in the first one. In the next window along an axis the cell is
 * STRIDE lower. */
struct cover {
    size_t rows, columns, out, cell;
};

/* Windows are added row by row: the order, and so the sum, is the same for any number of
 * threads. */
VEC_INLINE vecf grad_vector(const struct pool *p, const struct pool_gradient *g, enum elem elem,
                            const struct cover *v, size_t c, size_t n) {
    vecf sum = {0};
    for (size_t i = 0; i < v->rows; i++)
        for (size_t j = 0; j < v->columns; j++)
            sum += window_sum(p, g, elem, v->out + i * p->out_width + j,
                              v->cell - p->stride * (i * p->kernel + j), c, n);
    return sum;
}

/* ROW counts over all images. The window's row is found once, its column for every pixel. */
VEC_INLINE void grad_row(const struct pool *pool, const struct pool_gradient *gradient,
                         enum elem elem, size_t row, void *dx) {
    const struct pool p = *pool; /* copies stay in registers */
    const struct pool_gradient g = *gradient;
    size_t line = row % p.height, top, bottom;
    windows_over(&p, line, p.out_height, &top, &bottom);
    size_t out_row = (row / p.height * p.out_height + top) * p.out_width;
    size_t cell_row = (line + p.pad - top * p.stride) * p.kernel;
    for (size_t column = 0; column < p.width; column++) {
        size_t left, right, at = column * p.channels, c = 0;
        windows_over(&p, column, p.out_width, &left, &right);
        struct cover v = {.rows = bottom - top,
                          .columns = right - left,
                          .out = out_row + left,
                          .cell = cell_row + column + p.pad - left * p.stride};
        for (; c + LANES <= p.channels; c += LANES)
            vec_store(dx, at + c, grad_vector(&p, &g, elem, &v, c, LANES), elem);
        if (c < p.channels)
            vec_store_n(dx, at + c, grad_vector(&p, &g, elem, &v, c, p.channels - c),
                        p.channels - c, elem);
    }
}

void LOOP(max_pool_grad_row)(const struct pool *pool, const void *dy, const void *dy2, size_t row,
                             void *dx) {
    struct pool_gradient g = {.dy = dy, .dy2 = dy2};
    if (pool->elem == ELEM_F32)
        grad_row(pool, &g, ELEM_F32, row, dx);
    else
        grad_row(pool, &g, ELEM_BF16, row, dx);
}

/* --- means ------------------------------------------------------------------------------------ */

/* The share of the sum of ROWS x COLUMNS pixels from FIRST on, in a picture that is WIDTH wide. The
 * divisor counts all cells of the window, inside the picture or not. */
VEC_INLINE void mean_pixels(const struct pool *p, enum elem elem, size_t first, size_t width,
                            size_t rows, size_t columns, size_t out) {
    const float share = 1.0F / (float)(p->kernel * p->kernel);
    for (size_t c = 0; c < p->channels; c += LANES) {
        const size_t n = p->channels - c < LANES ? p->channels - c : LANES;
        vecf sum = {0};
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                sum += vec_load_n(p->x, (first + i * width + j) * p->channels + c, n, elem);
        vec_store_n(p->y, out * p->channels + c, sum * share, n, elem);
    }
}

/* The first pixel that is inside is TOP, LEFT; rows and columns beyond the border are left out. */
VEC_INLINE void mean_rows(const struct pool *pool, enum elem elem, size_t begin, size_t end) {
    const struct pool p = *pool;
    for (size_t row = begin; row < end; row++)
        for (size_t column = 0; column < p.out_width; column++) {
            const struct window w = window_at(&p, row % p.out_height, column);
            const size_t top = row / p.out_height * p.height + w.top + w.row_begin - p.pad;
            mean_pixels(&p, elem, top * p.width + w.left + w.column_begin - p.pad, p.width,
                        w.row_end - w.row_begin, w.column_end - w.column_begin,
                        row * p.out_width + column);
        }
}

/* A pixel's gradient is the share of its windows' gradients. Here x holds dy and y receives dx, so
 * the same function serves: it adds up windows instead of pixels. */
VEC_INLINE void mean_grad_rows(const struct pool *pool, enum elem elem, size_t begin, size_t end) {
    const struct pool p = *pool;
    for (size_t row = begin; row < end; row++)
        for (size_t column = 0; column < p.width; column++) {
            size_t top, bottom, left, right;
            windows_over(&p, row % p.height, p.out_height, &top, &bottom);
            windows_over(&p, column, p.out_width, &left, &right);
            mean_pixels(&p, elem, (row / p.height * p.out_height + top) * p.out_width + left,
                        p.out_width, bottom - top, right - left, row * p.width + column);
        }
}

void LOOP(avg_pool)(const struct pool *pool, size_t begin, size_t end) {
    if (pool->elem == ELEM_F32)
        mean_rows(pool, ELEM_F32, begin, end);
    else
        mean_rows(pool, ELEM_BF16, begin, end);
}

void LOOP(avg_pool_grad)(const struct pool *pool, size_t begin, size_t end) {
    if (pool->elem == ELEM_F32)
        mean_grad_rows(pool, ELEM_F32, begin, end);
    else
        mean_grad_rows(pool, ELEM_BF16, begin, end);
}
