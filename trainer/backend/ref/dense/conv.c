#include "trainer/backend/ref/base/body.h"

/* A pair of an output pixel and a tap of the window inside the image: offsets of a group's first
 * channel in x, in y, and of the tap in w (of the group's first output). */
struct tap {
    int64_t x, y, w;
};

/* Dimensions of a convolution: x [N,H,W,C], y [N,P,Q,O], w [O,KH,KW,I]; `o` and `i` are a
 * group's. */
struct sides {
    int64_t n, h, w, c, p, q, outputs, o, kh, kw, i;
    struct op_window window;
};

static struct sides sides_of(const struct ref_call *call, const struct shape *x,
                             const struct shape *y, const struct shape *w) {
    return (struct sides){.n = x->dim[0],
                          .h = x->dim[1],
                          .w = x->dim[2],
                          .c = x->dim[3],
                          .p = y->dim[1],
                          .q = y->dim[2],
                          .outputs = y->dim[3],
                          .o = y->dim[3] / op_window_groups(&call->op.attr.window),
                          .kh = w->dim[1],
                          .kw = w->dim[2],
                          .i = w->dim[3],
                          .window = call->op.attr.window};
}

/* Visits each tap once for each group. */
static void each_tap(const struct sides *s, void *user, void (*visit)(void *, const struct tap *)) {
    const int64_t pixels = s->n * s->p * s->q, taps = s->kh * s->kw;
    const int pad_h = op_window_pad(&s->window, 0), pad_w = op_window_pad(&s->window, 1);
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        int64_t q = pixel % s->q, p = pixel / s->q % s->p, n = pixel / s->q / s->p;
        for (int64_t tap = 0; tap < taps; tap++) {
            int64_t row = p * s->window.stride - pad_h + tap / s->kw;
            int64_t column = q * s->window.stride - pad_w + tap % s->kw;
            if (row < 0 || row >= s->h || column < 0 || column >= s->w)
                continue;
            for (int64_t g = 0; g < s->outputs / s->o; g++) {
                struct tap t = {.x = ((n * s->h + row) * s->w + column) * s->c + g * s->i,
                                .y = pixel * s->outputs + g * s->o,
                                .w = (g * s->o * taps + tap) * s->i};
                visit(user, &t);
            }
        }
    }
}

struct arrays {
    struct sides sides;
    double *x, *y, *w;
};

/* Four output channels side by side: their additions can overlap. */
static void forward_four(const struct arrays *a, const struct tap *t, int64_t o, int64_t step) {
    const double *x = a->x + t->x, *w0 = a->w + o * step + t->w;
    const double *w1 = w0 + step, *w2 = w1 + step, *w3 = w2 + step;
    double sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    for (int64_t i = 0; i < a->sides.i; i++) {
        sum0 += x[i] * w0[i];
        sum1 += x[i] * w1[i];
        sum2 += x[i] * w2[i];
        sum3 += x[i] * w3[i];
    }
    double *y = a->y + t->y + o;
    y[0] += sum0;
    y[1] += sum1;
    y[2] += sum2;
    y[3] += sum3;
}

static void forward_tap(void *user, const struct tap *t) {
    const struct arrays *a = user;
    int64_t o = 0, step = a->sides.kh * a->sides.kw * a->sides.i;
    for (; o + 4 <= a->sides.o; o += 4)
        forward_four(a, t, o, step);
    for (; o < a->sides.o; o++) {
        const double *w = a->w + o * step + t->w;
        double sum = 0;
        for (int64_t i = 0; i < a->sides.i; i++)
            sum += a->x[t->x + i] * w[i];
        a->y[t->y + o] += sum;
    }
}

static void data_tap(void *user, const struct tap *t) {
    const struct arrays *a = user;
    int64_t step = a->sides.kh * a->sides.kw * a->sides.i;
    double *x = a->x + t->x;
    int64_t o = 0;
    /* Four at a time, added in the same order. */
    for (; o + 4 <= a->sides.o; o += 4) {
        const double *dy = a->y + t->y + o, *w0 = a->w + o * step + t->w;
        const double *w1 = w0 + step, *w2 = w1 + step, *w3 = w2 + step;
        for (int64_t i = 0; i < a->sides.i; i++)
            x[i] = x[i] + dy[0] * w0[i] + dy[1] * w1[i] + dy[2] * w2[i] + dy[3] * w3[i];
    }
    for (; o < a->sides.o; o++) {
        const double dy = a->y[t->y + o], *w = a->w + o * step + t->w;
        for (int64_t i = 0; i < a->sides.i; i++)
            x[i] += dy * w[i];
    }
}

/* W is the result: gradients of all pixels are added in their order. */
static void weight_tap(void *user, const struct tap *t) {
    const struct arrays *a = user;
    int64_t step = a->sides.kh * a->sides.kw * a->sides.i;
    const double *x = a->x + t->x;
    for (int64_t o = 0; o < a->sides.o; o++) {
        const double dy = a->y[t->y + o];
        double *w = a->w + o * step + t->w;
        for (int64_t i = 0; i < a->sides.i; i++)
            w[i] += dy * x[i];
    }
}

int ref_conv2d(const struct ref_call *call, struct error *err) {
    (void)err;
    ref_round_weights(call);
    struct arrays a = {sides_of(call, &call->in_shape[0], &call->out_shape[0], &call->in_shape[1]),
                       call->in[0], call->out[0], call->in[1]};
    each_tap(&a.sides, &a, forward_tap);
    return 0;
}

int ref_conv2d_grad_data(const struct ref_call *call, struct error *err) {
    (void)err;
    ref_round_weights(call);
    struct arrays a = {sides_of(call, &call->out_shape[0], &call->in_shape[0], &call->in_shape[1]),
                       call->out[0], call->in[0], call->in[1]};
    each_tap(&a.sides, &a, data_tap);
    return 0;
}

int ref_conv2d_grad_weight(const struct ref_call *call, struct error *err) {
    (void)err;
    struct arrays a = {sides_of(call, &call->in_shape[1], &call->in_shape[0], &call->out_shape[0]),
                       call->in[1], call->in[0], call->out[0]};
    each_tap(&a.sides, &a, weight_tap);
    return 0;
}
