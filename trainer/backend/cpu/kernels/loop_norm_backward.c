#include "trainer/backend/cpu/kernels/loop_names.h"
#include "trainer/backend/cpu/kernels/vec.h"

/* Both passes of a norm's gradient (loops.h, struct norm_backward): sums over rows, and dx from the
 * factors that norm.c computes from those sums. Operators differ in a ReLU, a second gradient and a
 * second input; each combination becomes a loop of its own, without tests inside. WITH_FORM at the
 * end selects it.
 *
 * The mask of a ReLU is recomputed from the inputs if its output is not given, so that the forward
 * pass need not keep it. */

/* Rows summed in registers before they are added to memory, and the prefetch distance in
 * elements. */
enum { ROWS = 8, AHEAD = 256 };

/* Source of the ReLU's mask. */
enum mask { MASK_NONE, MASK_Y, MASK_X, MASK_SIDE, MASK_BOTH };

/* Compile-time constants of a loop. They are passed by value to inlined functions, so that every
 * test of them disappears. */
struct form {
    enum elem elem;
    bool dy2;
    enum mask mask;
};

/* The inputs' vectors at one position. */
struct place {
    size_t at, c, n;
    vecf x, other;
};

/* One value per channel: statistics and factors are f32 in every mode. */
VEC_INLINE vecf channel(const float *values, const struct place *p) {
    return vec_load_n(values, p->c, p->n, ELEM_F32);
}

/* X is always needed, by sums and by dx; the other input only for some masks. */
VEC_INLINE void load_inputs(const struct norm_backward *b, struct form f, struct place *p) {
    p->x = vec_load_n(b->x, p->at, p->n, f.elem);
    if (f.mask == MASK_SIDE || f.mask == MASK_BOTH)
        p->other = vec_load_n(b->other, p->at, p->n, f.elem);
}

/* The sum of the gradients from both readers, or 0 where the ReLU's argument was not positive. The
 * argument is recomputed as in the forward pass (struct norm_forward). */
VEC_INLINE vecf masked_gradient(const struct norm_backward *b, struct form f,
                                const struct place *p) {
    vecf dz = vec_load_n(b->dy, p->at, p->n, f.elem), z;
    if (f.dy2)
        dz += vec_load_n(b->dy2, p->at, p->n, f.elem);
    if (f.mask == MASK_NONE)
        return dz;
    if (f.mask == MASK_Y)
        z = vec_load_n(b->y, p->at, p->n, f.elem);
    else
        z = p->x * channel(b->scale, p) + channel(b->shift, p);
    if (f.mask == MASK_SIDE)
        z += p->other;
    if (f.mask == MASK_BOTH)
        z += p->other * channel(b->other_scale, p) + channel(b->other_shift, p);
    return vec_keep(vec_passes(z), dz);
}

/* Stores a vector of the activations' type, partial at the end of a row. */
VEC_INLINE void put(void *to, const struct place *p, vecf value, enum elem elem) {
    vec_store_n(to, p->at, value, p->n, elem);
}

/* Sums are kept in memory for each channel and touched once for ROWS rows. */
VEC_INLINE void add_n(float *sum, const struct place *p, vecf value) {
    vec_store_n(sum, p->c, vec_load_n(sum, p->c, p->n, ELEM_F32) + value, p->n, ELEM_F32);
}

/* A block's rows are read side by side, which the hardware prefetcher does not follow. */
VEC_INLINE void prefetch(const struct norm_backward *b, struct form f, size_t at) {
    vec_prefetch(b->x, at, f.elem);
    vec_prefetch(b->dy, at, f.elem);
    if (f.dy2)
        vec_prefetch(b->dy2, at, f.elem);
    if (f.mask == MASK_Y)
        vec_prefetch(b->y, at, f.elem);
    if (f.mask == MASK_SIDE || f.mask == MASK_BOTH)
        vec_prefetch(b->other, at, f.elem);
}

/* Sums one vector of channels over a few rows. The masked gradient is written to dz, if that is
 * given, for the second pass. The prefetch distance jumps to the next block of rows at the end of
 * the channels. */
VEC_INLINE void sums_at(const struct norm_backward *b, const struct norm_grad_sums *sums,
                        struct form f, struct place p, size_t begin, size_t end) {
    size_t ahead = p.c + AHEAD < b->channels ? AHEAD : AHEAD + (ROWS - 1) * b->channels;
    if (b->channels <= AHEAD)
        ahead = ROWS * b->channels;
    vecf mean = channel(b->mean, &p), other_mean = {0};
    if (f.mask == MASK_BOTH)
        other_mean = channel(b->other_mean, &p);
    vecf s = {0}, sx = {0}, so = {0};
    for (size_t row = begin; row < end; row++) {
        p.at = row * b->channels + p.c;
        prefetch(b, f, p.at + ahead);
        load_inputs(b, f, &p);
        vecf dz = masked_gradient(b, f, &p);
        if (b->dz != NULL)
            put(b->dz, &p, dz, f.elem);
        s += dz;
        sx += dz * (p.x - mean);
        if (f.mask == MASK_BOTH)
            so += dz * (p.other - other_mean);
    }
    add_n(sums->dz, &p, s);
    add_n(sums->dz_x, &p, sx);
    if (f.mask == MASK_BOTH)
        add_n(sums->dz_other, &p, so);
}

/* The arguments are copied: stores through pointers cannot alias them, so they stay in registers.
 * ROWS rows are visited for one vector of channels before the next: their sums stay in registers,
 * and the mean and the factors are loaded once. */
VEC_INLINE void sums_of(const struct norm_backward *norm, const struct norm_grad_sums *into,
                        struct form f, size_t begin, size_t end) {
    const struct norm_backward b = *norm;
    const struct norm_grad_sums sums = *into;
    for (size_t row = begin; row < end; row += ROWS) {
        size_t last = row + ROWS < end ? row + ROWS : end, c = 0;
        for (; c + LANES <= b.channels; c += LANES)
            sums_at(&b, &sums, f, (struct place){.c = c, .n = LANES}, row, last);
        if (c < b.channels)
            sums_at(&b, &sums, f, (struct place){.c = c, .n = b.channels - c}, row, last);
    }
}

/* Two fused multiply-adds where the instruction set has them. */
VEC_INLINE vecf affine(vecf dz, vecf x, const float *a, const float *b, const float *c,
                       const struct place *p) {
    return dz * channel(a, p) + (x * channel(b, p) + channel(c, p));
}

/* The second pass: dz again, then dx, and dother for the other normalized input. */
VEC_INLINE void backward_at(const struct norm_backward *b, struct form f, struct place p) {
    load_inputs(b, f, &p);
    vecf dz = masked_gradient(b, f, &p);
    put(b->dx, &p, affine(dz, p.x, b->a, b->b, b->c, &p), f.elem);
    if (f.mask == MASK_BOTH)
        put(b->dother, &p, affine(dz, p.other, b->other_a, b->other_b, b->other_c, &p), f.elem);
}

/* Row by row, since nothing is summed. */
VEC_INLINE void backward_of(const struct norm_backward *norm, struct form f, size_t begin,
                            size_t end) {
    const struct norm_backward b = *norm;
    for (size_t row = begin; row < end; row++) {
        size_t at = row * b.channels, c = 0;
        for (; c + LANES <= b.channels; c += LANES)
            backward_at(&b, f, (struct place){.at = at + c, .c = c, .n = LANES});
        if (c < b.channels)
            backward_at(&b, f, (struct place){.at = at + c, .c = c, .n = b.channels - c});
    }
}

/* A constant form; called by the macros below alone. */
VEC_INLINE struct form form_of(enum elem elem, bool dy2, enum mask mask) {
    return (struct form){.elem = elem, .dy2 = dy2, .mask = mask};
}

/* The mask's source follows from which pointers are given: with a side input the ReLU's argument is
 * always recomputed. */
static enum mask mask_of(const struct norm_backward *b) {
    if (b->other != NULL)
        return b->other_scale != NULL ? MASK_BOTH : MASK_SIDE;
    if (!b->relu)
        return MASK_NONE;
    return b->y != NULL ? MASK_Y : MASK_X;
}

/* Calls BODY with NORM's form as compile-time constants. */
#define WITH_MASK(body, norm, element, both)                                                       \
    switch (mask_of(norm)) {                                                                       \
    case MASK_NONE:                                                                                \
        body(form_of(element, both, MASK_NONE));                                                   \
        break;                                                                                     \
    case MASK_Y:                                                                                   \
        body(form_of(element, both, MASK_Y));                                                      \
        break;                                                                                     \
    case MASK_X:                                                                                   \
        body(form_of(element, both, MASK_X));                                                      \
        break;                                                                                     \
    case MASK_SIDE:                                                                                \
        body(form_of(element, both, MASK_SIDE));                                                   \
        break;                                                                                     \
    case MASK_BOTH:                                                                                \
        body(form_of(element, both, MASK_BOTH));                                                   \
        break;                                                                                     \
    }

#define WITH_FORM(body, norm)                                                                      \
    if (norm->elem == ELEM_F32 && norm->dy2 != NULL)                                               \
        WITH_MASK(body, norm, ELEM_F32, true)                                                      \
    else if (norm->elem == ELEM_F32)                                                               \
        WITH_MASK(body, norm, ELEM_F32, false)                                                     \
    else if (norm->dy2 != NULL)                                                                    \
        WITH_MASK(body, norm, ELEM_BF16, true)                                                     \
    else                                                                                           \
        WITH_MASK(body, norm, ELEM_BF16, false)

void LOOP(norm_backward_sums)(const struct norm_backward *norm, const struct norm_grad_sums *sums,
                              size_t begin, size_t end) {
#define SUMS(form) sums_of(norm, sums, form, begin, end)
    WITH_FORM(SUMS, norm)
}

void LOOP(norm_backward)(const struct norm_backward *norm, size_t begin, size_t end) {
#define BACKWARD(form) backward_of(norm, form, begin, end)
    WITH_FORM(BACKWARD, norm)
}
