/* Weights as loop_conv_rows.c reads them: for each GEMM_COLUMNS outputs, tap after tap and input
 * after input, the outputs' weights side by side. A last panel that is not full has zeros. */
#include "cpu_loops/loop_gemm.h"

enum { SQUARE = 16 };

size_t LOOP(conv_rows_weights)(const struct conv_rows_pack *p) {
    size_t panels = (p->out + GEMM_COLUMNS - 1) / GEMM_COLUMNS;
    return panels * GEMM_COLUMNS * p->taps * p->in;
}

static void pack_forward(const struct conv_rows_pack *p, size_t tap, size_t out, float *to) {
    const float *w = p->w + (out * p->kernel_taps + p->tap[tap]) * p->in;
    for (size_t in = 0; in < p->in; in += SQUARE)
        vec_turn(w + in, p->kernel_taps * p->in, to + in * GEMM_COLUMNS, GEMM_COLUMNS);
}

/* The same from [in][kernel_taps][out], where they lie side by side already. */
static void pack_gradient(const struct conv_rows_pack *p, size_t tap, size_t out, size_t count,
                          float *to) {
    for (size_t in = 0; in < p->in; in++)
        memcpy(to + in * GEMM_COLUMNS, p->w + (in * p->kernel_taps + p->tap[tap]) * p->out + out,
               count * sizeof(float));
}

/* Outputs [out, out + count), which begin a panel. */
static void pack_panel(const struct conv_rows_pack *p, size_t out, size_t count) {
    float *panel = p->weights + out * p->taps * p->in;
    if (count < GEMM_COLUMNS)
        memset(panel, 0, GEMM_COLUMNS * p->taps * p->in * sizeof(float));
    for (size_t tap = 0; tap < p->taps; tap++) {
        float *to = panel + tap * p->in * GEMM_COLUMNS;
        if (p->gradient)
            pack_gradient(p, tap, out, count, to);
        for (size_t o = 0; o < count && !p->gradient; o += LANES)
            pack_forward(p, tap, out + o, to + o);
    }
}

void LOOP(conv_rows_pack)(const struct conv_rows_pack *p, size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; panel++) {
        size_t out = panel * GEMM_COLUMNS, left = p->out - out;
        pack_panel(p, out, left < GEMM_COLUMNS ? left : GEMM_COLUMNS);
    }
}
