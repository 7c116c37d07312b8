/* Transforms of the weights of a 3x3 convolution into the 36 places of winograd4.h, and of their
 * gradient back. */
#include "trainer/backend/cpu/kernels/conv/loop_gemm.h"
#include "trainer/backend/cpu/kernels/conv/loop_winograd4.h"

enum { WIDE = GEMM_COLUMNS, TAPS = 9, PARTS = WIDE / LANES, INS = WINOGRAD4_CHANNELS };

/* G w G'. */
VEC_INLINE void widen(const vecf *taps, vecf *ret) {
    vecf half[SIX * THREE];
#pragma GCC unroll 3
    for (size_t j = 0; j < THREE; j++)
        winograd4_g(taps + j, THREE, half + j, THREE);
#pragma GCC unroll 6
    for (size_t i = 0; i < SIX; i++)
        winograd4_g(half + i * THREE, 1, ret + i * SIX, 1);
}

size_t LOOP(winograd4_weights)(size_t in, size_t out) {
    return gemm_floats(gemm_steps(in) * ((out + WIDE - 1) / WIDE * WIDE));
}

/* One input's outputs: 9 lines of taps. */
VEC_INLINE void widen_line(float taps[TAPS][WIDE], vecf ret[PARTS][PLACES]) {
    for (size_t part = 0; part < PARTS; part++) {
        vecf w[TAPS];
        for (size_t i = 0; i < TAPS; i++)
            w[i] = vec_load(taps[i], part * LANES, ELEM_F32);
        widen(w, ret[part]);
    }
}

/* INS inputs from IN on into a panel's 36 places, in whole lines that bypass the caches, because
 * all weights are written before any is read. */
#ifdef LOOP_HAS_AMX
static void pack_lines(float taps[INS][TAPS][WIDE], size_t in, float *panel, size_t places) {
    for (size_t i = 0; i < INS; i += 2) {
        vecf even[PARTS][PLACES], odd[PARTS][PLACES];
        widen_line(taps[i], even);
        widen_line(taps[i + 1], odd);
        for (size_t place = 0; place < PLACES; place++)
            for (size_t part = 0; part < PARTS; part++) {
                vecu pair[SPLIT_PARTS];
                char *to = split_line(panel + place * places, in + i, part * LANES);
                split_pair(even[part][place], odd[part][place], pair);
                for (size_t j = 0; j < SPLIT_PARTS; j++)
                    _mm512_stream_si512((void *)(to + j * SPLIT_PANEL_PART), (__m512i)pair[j]);
            }
    }
}
#else
static void pack_lines(float taps[INS][TAPS][WIDE], size_t in, float *panel, size_t places) {
    for (size_t i = 0; i < INS; i++) {
        vecf values[PARTS][PLACES];
        float *to = panel + (in + i) * WIDE;
        widen_line(taps[i], values);
        for (size_t place = 0; place < PLACES; place++)
            for (size_t part = 0; part < PARTS; part++)
                vec_stream(to, place * places + part * LANES, values[part][place], ELEM_F32);
    }
}
#endif

/* Loads the taps of INS inputs for OUTS outputs. */
static void take_forward(const struct winograd4_pack *p, size_t in, size_t out, size_t outs,
                         float ret[INS][TAPS][WIDE]) {
    for (size_t tap = 0; tap < TAPS; tap++)
        for (size_t o = 0; o < outs; o += LANES) {
            const float *from = p->w + ((out + o) * TAPS + tap) * p->in + in;
            vec_turn(from, TAPS * p->in, ret[0][tap] + o, TAPS * WIDE);
        }
}

static void take_gradient(const struct winograd4_pack *p, size_t in, size_t out, size_t outs,
                          float ret[INS][TAPS][WIDE]) {
    for (size_t i = 0; i < INS; i++)
        for (size_t tap = 0; tap < TAPS; tap++) {
            const float *from = p->w + ((in + i) * TAPS + TAPS - 1 - tap) * p->out + out;
            for (size_t o = 0; o < outs; o++)
                ret[i][tap][o] = from[o];
        }
}

void LOOP(winograd4_pack)(const struct winograd4_pack *p, size_t begin, size_t end) {
    float taps[INS][TAPS][WIDE];
    size_t places = LOOP(winograd4_weights)(p->in, p->out);
    for (size_t unit = begin; unit < end; unit++) {
        size_t out = unit * WIDE, outs = p->out - out < WIDE ? p->out - out : WIDE;
        float *panel = p->weights + unit * LOOP(winograd4_weights)(p->in, WIDE);
        memset(taps, 0, sizeof taps);
        for (size_t in = 0; in < p->in; in += INS) {
            if (p->gradient)
                take_gradient(p, in, out, outs, taps);
            else
                take_forward(p, in, out, outs, taps);
            pack_lines(taps, in, panel, places);
        }
        memset(taps, 0, sizeof taps);
        if (p->in < gemm_steps(p->in))
            pack_lines(taps, p->in, panel, places);
    }
    vec_fence();
}

/* G'uG: sums [36][out][in] into dw [out][9][in], rows [begin, end) of outputs. */
void LOOP(winograd4_taps)(const float *sums, size_t in, size_t out, float *dw, size_t begin,
                          size_t end) {
    for (size_t o = begin; o < end; o++)
        for (size_t i = 0; i < in; i += LANES) {
            vecf half[THREE * SIX], taps[TAPS];
#pragma GCC unroll 6
            for (size_t column = 0; column < SIX; column++) {
                vecf u[SIX];
#pragma GCC unroll 6
                for (size_t row = 0; row < SIX; row++)
                    u[row] = vec_load(sums, ((row * SIX + column) * out + o) * in + i, ELEM_F32);
                winograd4_gt(u, 1, half + column, SIX);
            }
#pragma GCC unroll 3
            for (size_t row = 0; row < THREE; row++)
                winograd4_gt(half + row * SIX, 1, taps + row * THREE, 1);
            for (size_t tap = 0; tap < TAPS; tap++)
                vec_store(dw, (o * TAPS + tap) * in + i, taps[tap], ELEM_F32);
        }
}
