/* Packed weights for loop_conv_rows.c: for each GEMM_COLUMNS outputs, tap after tap and input
 * after input, the outputs' weights side by side. An incomplete last panel is filled with zeros. */
#include "trainer/backend/cpu/kernels/conv/loop_gemm.h"

enum { SQUARE = 16 };

size_t LOOP(conv_rows_weights)(const struct conv_rows_pack *p) {
    size_t panels = (p->out + GEMM_COLUMNS - 1) / GEMM_COLUMNS;
    return gemm_floats(panels * GEMM_COLUMNS * gemm_steps(p->taps * p->in));
}

static void pack_forward(const struct conv_rows_pack *p, size_t tap, size_t in, size_t out,
                         float *to) {
    const float *w = p->w + (out * p->kernel_taps + p->tap[tap]) * p->in;
    vec_turn(w + in, p->kernel_taps * p->in, to, GEMM_COLUMNS);
}

/* The same from [in][kernel_taps][out], where they are side by side already. */
static void pack_gradient(const struct conv_rows_pack *p, size_t tap, size_t in, size_t out,
                          size_t count, float *to) {
    for (size_t i = 0; i < SQUARE; i++)
        memcpy(to + i * GEMM_COLUMNS,
               p->w + ((in + i) * p->kernel_taps + p->tap[tap]) * p->out + out,
               count * sizeof(float));
}

/* SQUARE inputs of a tap for COUNT outputs from OUT on. */
static void pack_some(const struct conv_rows_pack *p, size_t tap, size_t in, size_t out,
                      size_t count, float *to) {
    if (p->gradient)
        pack_gradient(p, tap, in, out, count, to);
    for (size_t o = 0; o < count && !p->gradient; o += LANES)
        pack_forward(p, tap, in, out + o, to + o);
}

/* Packs outputs [out, out + count), which begin a panel. */
static void pack_panel(const struct conv_rows_pack *p, size_t out, size_t count) {
    size_t all = p->taps * p->in;
    float *panel = p->weights + gemm_floats(out * gemm_steps(all));
#ifdef LOOP_HAS_AMX
    float some[SPLIT_STEP * GEMM_COLUMNS] = {0};
    for (size_t k = 0; k < all; k += SPLIT_STEP) {
        size_t depth = all - k < SPLIT_STEP ? all - k : SPLIT_STEP;
        for (size_t i = 0; i < depth; i += SQUARE)
            pack_some(p, (k + i) / p->in, (k + i) % p->in, out, count, some + i * GEMM_COLUMNS);
        split_panel(panel + gemm_floats(k * GEMM_COLUMNS), some, depth);
    }
#else
    if (count < GEMM_COLUMNS)
        memset(panel, 0, GEMM_COLUMNS * all * sizeof(float));
    for (size_t k = 0; k < all; k += SQUARE)
        pack_some(p, k / p->in, k % p->in, out, count, panel + k * GEMM_COLUMNS);
#endif
}

void LOOP(conv_rows_pack)(const struct conv_rows_pack *p, size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; panel++) {
        size_t out = panel * GEMM_COLUMNS, left = p->out - out;
        pack_panel(p, out, left < GEMM_COLUMNS ? left : GEMM_COLUMNS);
    }
}
