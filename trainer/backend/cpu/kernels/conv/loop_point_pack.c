/* Packed weights of a 1x1 convolution for loop_point.c: for each 64 outputs the pairs of
 * neighbouring inputs in bf16, one pair for 64 outputs side by side. */
#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

enum { OUTS = PACK_OUTS, INS = PACK_INS, PAIRS = INS / 2, WIDE = 16 };

/* Converts WIDE neighbours to bf16. */
static void round_wide(const float *w, uint16_t *ret) {
    for (size_t i = 0; i < WIDE; i += LANES)
        vec_store(ret, i, vec_load(w, i, ELEM_F32), ELEM_BF16);
}

/* Lines of 16 outputs from the weights of INS inputs: [out][in]. */
static void pack_forward(const struct own_pack *p, size_t in, size_t out, uint32_t *to) {
    uint32_t part[WIDE][PAIRS];
    for (size_t i = 0; i < WIDE; i++) {
        uint16_t row[INS];
        for (size_t half = 0; half < INS; half += WIDE)
            round_wide(p->w + (out + i) * p->in + in + half, row + half);
        memcpy(part[i], row, sizeof row);
    }
    for (size_t pair = 0; pair < PAIRS; pair++) {
        uint32_t line[WIDE];
        for (size_t i = 0; i < WIDE; i++)
            line[i] = part[i][pair];
        vec_stream_line(to + pair * OUTS, line);
    }
}

/* The same from [in][out]. */
static void pack_gradient(const struct own_pack *p, size_t in, size_t out, uint32_t *to) {
    for (size_t pair = 0; pair < PAIRS; pair++) {
        uint16_t low[WIDE], high[WIDE];
        uint32_t line[WIDE];
        round_wide(p->w + (in + 2 * pair) * p->out + out, low);
        round_wide(p->w + (in + 2 * pair + 1) * p->out + out, high);
        for (size_t i = 0; i < WIDE; i++)
            line[i] = low[i] | (uint32_t)high[i] << 16;
        vec_stream_line(to + pair * OUTS, line);
    }
}

void LOOP(point_pack)(const struct own_pack *p, size_t begin, size_t end) {
    size_t groups = p->in / INS;
    for (size_t unit = begin; unit < end; unit++) {
        size_t in = unit % groups * INS, out = unit / groups * OUTS;
        uint32_t *to = (uint32_t *)p->weights + p->in / 2 * out + in / 2 * OUTS;
        for (size_t i = 0; i < OUTS; i += WIDE)
            if (p->gradient)
                pack_gradient(p, in, out + i, to + i);
            else
                pack_forward(p, in, out + i, to + i);
    }
    vec_fence();
}
