/* Packed weights of a 3x3 convolution for loop_winograd.c: G w G' in bf16; for each 64 outputs and
 * each of the 16 places the pairs of inputs, one pair for 64 outputs side by side.
 *
 * Pairs follow the order of channels there: of each 32 inputs 0 and 2, 4 and 6 ... 28 and 30, then
 * 1 and 3 and so on. */
#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

enum { PLACES = 16, OUTS = PACK_OUTS, INS = PACK_INS, PAIRS = INS / 2, WIDE = 16 };

/* One dimension of G w, for WIDE values side by side: four from three, STEP apart. */
static void widen(const float *a, size_t step, float *ret, size_t ret_step) {
    const float *b = a + step, *c = b + step;
    for (size_t i = 0; i < WIDE; i++) {
        float sum = a[i] + c[i];
        ret[i] = a[i];
        ret[ret_step + i] = (sum + b[i]) / 2;
        ret[2 * ret_step + i] = (sum - b[i]) / 2;
        ret[3 * ret_step + i] = c[i];
    }
}

/* G w G' of WIDE neighbours in memory; taps are STEP apart, backwards if STEP is negative. */
static void transform(const float *w, ptrdiff_t step, uint16_t ret[PLACES][WIDE]) {
    float taps[9][WIDE], half[12][WIDE], all[PLACES][WIDE];
    for (ptrdiff_t tap = 0; tap < 9; tap++)
        memcpy(taps[tap], w + tap * step, sizeof taps[tap]);
    for (size_t i = 0; i < 3; i++)
        widen(taps[i], 3 * (size_t)WIDE, half[i], 3 * (size_t)WIDE);
    for (size_t i = 0; i < 4; i++)
        widen(half[3 * i], WIDE, all[4 * i], WIDE);
    for (size_t place = 0; place < PLACES; place++)
        for (size_t i = 0; i < WIDE; i += LANES)
            vec_store(ret[place], i, vec_load(all[place], i, ELEM_F32), ELEM_BF16);
}

/* Lines of 16 outputs from the weights of INS inputs: [out][9][in]. */
static void pack_forward(const struct own_pack *p, size_t in, size_t out, uint32_t *to) {
    uint16_t part[WIDE][INS / WIDE][PLACES][WIDE];
    size_t place_words = p->in / 2 * OUTS;
    for (size_t i = 0; i < WIDE; i++)
        for (size_t half = 0; half < INS / WIDE; half++)
            transform(p->w + (out + i) * 9 * p->in + in + half * WIDE, (ptrdiff_t)p->in,
                      part[i][half]);
    for (size_t place = 0; place < PLACES; place++)
        for (size_t pair = 0; pair < PAIRS / 2; pair++) {
            uint32_t even[WIDE], odd[WIDE];
            for (size_t i = 0; i < WIDE; i++) {
                uint32_t two[2]; /* inputs 4 * pair and three more */
                memcpy(two, &part[i][pair / 4][place][pair % 4 * 4], sizeof two);
                even[i] = (two[0] & 0xffff) | two[1] << 16;
                odd[i] = two[0] >> 16 | (two[1] & 0xffff0000);
            }
            vec_stream_line(to + place * place_words + pair * OUTS, even);
            vec_stream_line(to + place * place_words + (pair + PAIRS / 2) * OUTS, odd);
        }
}

/* The same from [in][9][out], with the taps rotated by 180 degrees. */
static void pack_gradient(const struct own_pack *p, size_t in, size_t out, uint32_t *to) {
    uint16_t low[PLACES][WIDE], high[PLACES][WIDE];
    size_t place_words = p->in / 2 * OUTS;
    ptrdiff_t step = -(ptrdiff_t)p->out;
    for (size_t pair = 0; pair < PAIRS; pair++) {
        size_t first = in + pair % (PAIRS / 2) * 4 + pair / (PAIRS / 2);
        transform(p->w + (first * 9 + 8) * p->out + out, step, low);
        transform(p->w + ((first + 2) * 9 + 8) * p->out + out, step, high);
        for (size_t place = 0; place < PLACES; place++) {
            uint32_t line[WIDE];
            for (size_t i = 0; i < WIDE; i++)
                line[i] = low[place][i] | (uint32_t)high[place][i] << 16;
            vec_stream_line(to + place * place_words + pair * OUTS, line);
        }
    }
}

void LOOP(winograd_pack)(const struct own_pack *p, size_t begin, size_t end) {
    size_t groups = p->in / INS;
    for (size_t unit = begin; unit < end; unit++) {
        size_t in = unit % groups * INS, out = unit / groups * OUTS;
        uint32_t *to = (uint32_t *)p->weights + PLACES * (p->in / 2) * out + in / 2 * OUTS;
        for (size_t i = 0; i < OUTS; i += WIDE)
            if (p->gradient)
                pack_gradient(p, in, out + i, to + i);
            else
                pack_forward(p, in, out + i, to + i);
    }
    vec_fence();
}
