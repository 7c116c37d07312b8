#include "trainer/math/pool.h"
#include "trainer/backend/ref/base/body.h"

/* Returns the element of X under tap TAP of the window of element I of Y, -1 outside the image. */
static int64_t under(const struct shape *x, const struct shape *y, const struct op_window *window,
                     int64_t i, int tap) {
    int64_t c = i % y->dim[3], q = i / y->dim[3] % y->dim[2];
    int64_t p = i / y->dim[3] / y->dim[2] % y->dim[1], n = i / y->dim[3] / y->dim[2] / y->dim[1];
    int64_t row = p * window->stride - window->pad + tap / window->kernel;
    int64_t column = q * window->stride - window->pad + tap % window->kernel;
    if (row < 0 || row >= x->dim[1] || column < 0 || column >= x->dim[2])
        return -1;
    return ((n * x->dim[1] + row) * x->dim[2] + column) * x->dim[3] + c;
}

/* The first of equal values wins, and its tap is the index. */
int ref_max_pool(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->in_shape[0], *y = &call->out_shape[0];
    const struct op_window *window = &call->op.attr.window;
    for (int64_t i = 0; i < shape_count(y); i++) {
        double most = 0;
        int index = -1; /* no window is entirely outside */
        for (int tap = 0; tap < window->kernel * window->kernel; tap++) {
            int64_t at = under(x, y, window, i, tap);
            if (at >= 0 && (index < 0 || pool_exceeds(call->in[0][at], most))) {
                most = call->in[0][at];
                index = tap;
            }
        }
        call->out[0][i] = most;
        if (call->out[1] != NULL)
            call->out[1][i] = index;
    }
    return 0;
}

/* Windows overlap: an element can be the maximum of several. */
int ref_max_pool_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->out_shape[0], *y = &call->in_shape[0];
    for (int64_t i = 0; i < shape_count(y); i++)
        call->out[0][under(x, y, &call->op.attr.window, i, (int)call->in[1][i])] += call->in[0][i];
    return 0;
}

/* Taps outside the image count as zeros, so the divisor is always the whole window. */
int ref_avg_pool(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->in_shape[0], *y = &call->out_shape[0];
    const struct op_window *window = &call->op.attr.window;
    const int cells = window->kernel * window->kernel;
    for (int64_t i = 0; i < shape_count(y); i++) {
        double sum = 0;
        for (int tap = 0; tap < cells; tap++) {
            int64_t at = under(x, y, window, i, tap);
            sum += at >= 0 ? call->in[0][at] : 0;
        }
        call->out[0][i] = sum / cells;
    }
    return 0;
}

int ref_avg_pool_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->out_shape[0], *y = &call->in_shape[0];
    const struct op_window *window = &call->op.attr.window;
    const int cells = window->kernel * window->kernel;
    for (int64_t i = 0; i < shape_count(y); i++)
        for (int tap = 0; tap < cells; tap++) {
            int64_t at = under(x, y, window, i, tap);
            if (at >= 0)
                call->out[0][at] += call->in[0][i] / cells;
        }
    return 0;
}

int ref_global_avg_pool(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->in_shape[0];
    int64_t pixels = x->dim[1] * x->dim[2], channels = x->dim[3];
    for (int64_t i = 0; i < shape_count(&call->out_shape[0]); i++) {
        double sum = 0;
        for (int64_t pixel = 0; pixel < pixels; pixel++)
            sum += call->in[0][(i / channels * pixels + pixel) * channels + i % channels];
        call->out[0][i] = sum / (double)pixels;
    }
    return 0;
}

int ref_global_avg_pool_grad(const struct ref_call *call, struct error *err) {
    (void)err;
    const struct shape *x = &call->out_shape[0];
    int64_t pixels = x->dim[1] * x->dim[2], channels = x->dim[3];
    for (int64_t i = 0; i < shape_count(x); i++)
        call->out[0][i] =
            call->in[0][i / channels / pixels * channels + i % channels] / (double)pixels;
    return 0;
}
