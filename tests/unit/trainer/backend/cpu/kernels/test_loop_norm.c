#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

/* The loops of batch norm on every instruction set and in both types: statistics, the forward pass,
 * and both passes backwards, in all of their forms. Expected values are computed element by element
 * in double from the formulas of struct norm_forward and struct norm_backward (loops.h). Each form
 * is a loop of its own after compilation, so each is run. */

/* Numbers of channels that are not multiples of every vector width, and a number of rows that
 * leaves a remainder in every block of rows. */
static const size_t channel_cases[] = {1, 3, 16, 33, 64};
enum { ROWS = 21, CHANNEL_CASES = 5 };

/* All inputs and outputs of all loops: tensors of ROWS by channels in one type, and vectors of one
 * value per channel in f32. Values are random and fixed. The seeds differ, so no two tensors are
 * equal. */
struct arrays {
    enum elem elem;
    size_t channels;
    void *x, *other, *dy, *dy2, *y, *dz, *dx, *dother;
    float *scale, *shift, *mean, *other_scale, *other_shift, *other_mean, *a, *b, *c;
};

/* Outputs begin with other values, too, so that an element that is not written shows. Vectors have
 * an offset of 0.25, so scales are seldom near 0. */
static void arrays_make(struct arrays *m, enum elem elem, size_t channels) {
    size_t count = ROWS * channels;
    *m = (struct arrays){.elem = elem, .channels = channels};
    void **rows[] = {&m->x, &m->other, &m->dy, &m->dy2, &m->y, &m->dz, &m->dx, &m->dother};
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        *rows[i] = loop_values(count, elem, 0, i + 1);
    float **vectors[] = {&m->scale,       &m->shift,       &m->mean,
                         &m->other_scale, &m->other_shift, &m->other_mean,
                         &m->a,           &m->b,           &m->c};
    for (uint32_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        *vectors[i] = loop_values(channels, ELEM_F32, 0.25F, i + 77);
}

/* All of them were allocated by loop_values(). The struct may be made again afterwards. */
static void arrays_free(struct arrays *m) {
    void *all[] = {m->x,           m->other,      m->dy,    m->dy2,   m->y,    m->dz,
                   m->dx,          m->dother,     m->scale, m->shift, m->mean, m->other_scale,
                   m->other_shift, m->other_mean, m->a,     m->b,     m->c};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

typedef void check_fn(const struct loops *loops, const struct arrays *m);

/* Runs CHECK with every instruction set, type and number of channels. A failed assertion names no
 * instruction set; loops_available() lists them from the widest down. Memory is new for each, so a
 * sanitizer sees reads past the last channel. */
static void for_each(check_fn *check) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++)
        for (int elem = ELEM_F32; elem <= ELEM_BF16; elem++)
            for (size_t i = 0; i < CHANNEL_CASES; i++) {
                struct arrays m;
                arrays_make(&m, (enum elem)elem, channel_cases[i]);
                check(*loops, &m);
                arrays_free(&m);
            }
}

/* Sums are added to what is there (here 3), an empty range adds nothing, and rows before the range
 * are not read. The array of squares begins at 0, that of sums at 3. */
static void check_sums(const struct loops *loops, const struct arrays *m) {
    float sum[64] = {0}, square[64] = {0};
    for (size_t c = 0; c < m->channels; c++)
        sum[c] = 3;
    loops->norm_sums(m->x, m->elem, m->channels, m->mean, sum, square, 2, 2);
    loops->norm_sums(m->x, m->elem, m->channels, m->mean, sum, square, 2, ROWS);
    for (size_t c = 0; c < m->channels; c++) {
        double s = 3, q = 0;
        for (size_t row = 2; row < ROWS; row++) {
            double v = (double)loop_get(m->x, row * m->channels + c, m->elem) - (double)m->mean[c];
            s += v;
            q += v * v;
        }
        CU_ASSERT(loop_near(sum[c], s, ELEM_F32, ROWS));
        CU_ASSERT(loop_near(square[c], q, ELEM_F32, ROWS));
    }
}

/* The shift is the vector `mean`, any value will do. Sums are those of x - shift and of its
 * square. */
static void sums_add_what_lies_around_the_shift(void) {
    for_each(check_sums);
}

/* The result before the ReLU at one place. WITH_OTHER adds the side input, DUAL after a norm of its
 * own. AT is the element, C its channel. */
static double z_at(const struct arrays *m, size_t at, size_t c, bool with_other, bool dual) {
    double z = (double)loop_get(m->x, at, m->elem) * (double)m->scale[c] + (double)m->shift[c];
    if (!with_other)
        return z;
    double other = (double)loop_get(m->other, at, m->elem);
    return z + (dual ? other * (double)m->other_scale[c] + (double)m->other_shift[c] : other);
}

/* Bits of FORM choose ReLU, side and second norm. Streaming stores are used where their conditions
 * hold: whole vectors and aligned rows. The bound is for four roundings. */
static void check_forward(const struct loops *loops, const struct arrays *m) {
    for (int form = 0; form < 8; form++) {
        bool relu = form & 1, with_other = form & 2, dual = (form & 6) == 6;
        struct norm_forward f = {.elem = m->elem,
                                 .channels = m->channels,
                                 .relu = relu,
                                 .stream = m->channels % 16 == 0,
                                 .x = m->x,
                                 .scale = m->scale,
                                 .shift = m->shift,
                                 .other = with_other ? m->other : NULL,
                                 .other_scale = dual ? m->other_scale : NULL,
                                 .other_shift = dual ? m->other_shift : NULL,
                                 .y = m->y};
        loops->norm_forward(&f, 0, 3);
        loops->norm_forward(&f, 3, ROWS);
        for (size_t at = 0; at < ROWS * m->channels; at++) {
            double z = z_at(m, at, at % m->channels, with_other, dual);
            if (relu && z < 0)
                z = 0;
            CU_ASSERT(loop_near(loop_get(m->y, at, m->elem), z, m->elem, 4));
        }
    }
}

/* Two calls with an odd boundary, as threads share rows. The order is that of the name: norm, sum,
 * ReLU. */
static void forward_normalises_adds_and_rectifies(void) {
    for_each(check_forward);
}

/* Bits of FORM: ReLU, side input, second gradient, and y given. With a side there is always a ReLU;
 * bit 8 then means a side without a norm. All 16 combinations are valid. */
static struct norm_backward backward_form(const struct arrays *m, int form) {
    bool other = form & 2, dual = other && !(form & 8);
    return (struct norm_backward){.elem = m->elem,
                                  .channels = m->channels,
                                  .relu = form & 1 || other,
                                  .dy = m->dy,
                                  .dy2 = form & 4 ? m->dy2 : NULL,
                                  .y = form & 8 && !other ? m->y : NULL,
                                  .x = m->x,
                                  .scale = m->scale,
                                  .shift = m->shift,
                                  .mean = m->mean,
                                  .other = other ? m->other : NULL,
                                  .other_scale = dual ? m->other_scale : NULL,
                                  .other_shift = dual ? m->other_shift : NULL,
                                  .other_mean = m->other_mean,
                                  .a = m->a,
                                  .b = m->b,
                                  .c = m->c,
                                  .other_a = m->b,
                                  .other_b = m->c,
                                  .other_c = m->a};
}

/* The masked sum of gradients, by the definition: the argument of the ReLU is recomputed, or y is
 * looked at. A ReLU passes gradients only where its argument is above 0. */
static double dz_at(const struct arrays *m, const struct norm_backward *b, size_t at) {
    double dz = (double)loop_get(m->dy, at, m->elem);
    if (b->dy2 != NULL)
        dz += (double)loop_get(m->dy2, at, m->elem);
    double z = b->y != NULL
                   ? (double)loop_get(m->y, at, m->elem)
                   : z_at(m, at, at % m->channels, b->other != NULL, b->other_scale != NULL);
    return b->relu && z <= 0 ? 0 : dz;
}

/* The masked gradient is written as well as summed. Without a second norm its sums are NULL and
 * must not be touched. All rows are summed by one call; several threads would add up their own
 * sums. */
static void check_backward_sums(const struct loops *loops, const struct arrays *m) {
    float sums[3][64];
    for (int form = 0; form < 16; form++) {
        struct norm_backward b = backward_form(m, form);
        b.dz = m->dz;
        memset(sums, 0, sizeof sums);
        struct norm_grad_sums into = {
            .dz = sums[0], .dz_x = sums[1], .dz_other = b.other_scale != NULL ? sums[2] : NULL};
        loops->norm_backward_sums(&b, &into, 0, ROWS);
        for (size_t c = 0; c < m->channels; c++) {
            double s = 0, sx = 0, so = 0;
            for (size_t at = c; at < ROWS * m->channels; at += m->channels) {
                double dz = dz_at(m, &b, at);
                CU_ASSERT(loop_near(loop_get(m->dz, at, m->elem), dz, m->elem, 4));
                s += dz;
                sx += dz * ((double)loop_get(m->x, at, m->elem) - (double)m->mean[c]);
                so += dz * ((double)loop_get(m->other, at, m->elem) - (double)m->other_mean[c]);
            }
            CU_ASSERT(loop_near(sums[0][c], s, ELEM_F32, ROWS));
            CU_ASSERT(loop_near(sums[1][c], sx, ELEM_F32, 2 * ROWS));
            if (b.other_scale != NULL)
                CU_ASSERT(loop_near(sums[2][c], so, ELEM_F32, 2 * ROWS));
        }
    }
}

/* The second norm's sums have their own mean. The masked gradient of f32 is exact, that of bf16
 * rounded. */
static void backward_sums_mask_and_reduce(void) {
    for_each(check_backward_sums);
}

/* Factors a, b and c are arbitrary here: norm.c computes them, and its own test checks that. The
 * second norm takes the same vectors in another order, so that a mix-up shows. Elements are
 * compared with a bound for eight roundings. */
static void check_backward(const struct loops *loops, const struct arrays *m) {
    for (int form = 0; form < 16; form++) {
        struct norm_backward b = backward_form(m, form);
        b.dx = m->dx;
        b.dother = b.other_scale != NULL ? m->dother : NULL;
        loops->norm_backward(&b, 0, ROWS);
        for (size_t at = 0; at < ROWS * m->channels; at++) {
            size_t c = at % m->channels;
            double dz = dz_at(m, &b, at), x = (double)loop_get(m->x, at, m->elem);
            double other = (double)loop_get(m->other, at, m->elem);
            double dx = dz * (double)m->a[c] + x * (double)m->b[c] + (double)m->c[c];
            CU_ASSERT(loop_near(loop_get(m->dx, at, m->elem), dx, m->elem, 8));
            if (b.other_scale == NULL)
                continue;
            double dother = dz * (double)m->b[c] + other * (double)m->c[c] + (double)m->a[c];
            CU_ASSERT(loop_near(loop_get(m->dother, at, m->elem), dother, m->elem, 8));
        }
    }
}

/* Both results are written in one pass. Each element depends on itself and its channel alone. */
static void backward_spreads_the_sums(void) {
    for_each(check_backward);
}

/* One value of the first channel is NaN: what is computed from it is NaN, too; nothing else is. A
 * mask by comparison would turn NaN into 0 silently and hide a broken step. The NaN is put into row
 * 3 and stays for all forms. Sums of the channel become NaN where they contain x, and stay finite
 * where they only contain gradients. */
static void check_nan(const struct loops *loops, const struct arrays *m) {
    float sums[3][64];
    size_t place = 3 * m->channels;
    loop_put(m->x, place, m->elem, NAN);
    for (int form = 0; form < 16; form++) {
        struct norm_backward b = backward_form(m, form);
        struct norm_forward f = {.elem = m->elem,
                                 .channels = m->channels,
                                 .relu = b.relu,
                                 .x = m->x,
                                 .scale = m->scale,
                                 .shift = m->shift,
                                 .other = b.other,
                                 .other_scale = b.other_scale,
                                 .other_shift = b.other_shift,
                                 .y = m->y};
        loops->norm_forward(&f, 0, ROWS);
        for (size_t at = 0; at < ROWS * m->channels; at++)
            CU_ASSERT_EQUAL(isnan(loop_get(m->y, at, m->elem)) != 0, at == place);
        memset(sums, 0, sizeof sums);
        b.dz = m->dz;
        struct norm_grad_sums into = {
            .dz = sums[0], .dz_x = sums[1], .dz_other = b.other_scale != NULL ? sums[2] : NULL};
        loops->norm_backward_sums(&b, &into, 0, ROWS);
        double passed = (double)loop_get(m->dy, place, m->elem);
        passed += b.dy2 != NULL ? (double)loop_get(m->dy2, place, m->elem) : 0;
        CU_ASSERT(loop_near(loop_get(m->dz, place, m->elem), passed, m->elem, 4));
        for (size_t c = 0; c < m->channels; c++) {
            CU_ASSERT(isfinite(sums[0][c]));
            CU_ASSERT_EQUAL(isnan(sums[1][c]) != 0, c == 0);
        }
        b.dx = m->dx;
        b.dother = b.other_scale != NULL ? m->dother : NULL;
        loops->norm_backward(&b, 0, ROWS);
        for (size_t at = 0; at < ROWS * m->channels; at++)
            CU_ASSERT_EQUAL(isnan(loop_get(m->dx, at, m->elem)) != 0, at == place);
    }
}

/* Vectorized masks are what this is about: they must let NaN pass. NaN in a gradient must reach the
 * optimizer's check of finite gradients. */
static void nan_passes_the_relu_and_stays_in_its_channel(void) {
    for_each(check_nan);
}

/* The bits are those on either side of a tie, the largest number, which becomes infinity, and -0. A
 * NaN must stay one although cutting its low bits could make it infinity. With a scale of 0 the
 * result is the shift alone. */
static void bf16_rounds_ties_to_even_and_keeps_nan(void) {
    static const struct {
        uint32_t from;
        uint16_t to;
    } cases[] = {{0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
                 {0x7f800000, 0x7f80}, {0x7f7fffff, 0x7f80}, {0x80000000, 0x8000}};
    float one = 1, zero = 0;
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            /* The shift brings in a value that no bf16 input could hold. */
            float shift;
            memcpy(&shift, &cases[i].from, sizeof shift);
            uint16_t x = 0x8000, y = 0;
            struct norm_forward f = {.elem = ELEM_BF16, .channels = 1, .x = &x, .y = &y};
            f.scale = &zero;
            f.shift = &shift;
            (*loops)->norm_forward(&f, 0, 1);
            CU_ASSERT_EQUAL(y, cases[i].to);
        }
        uint16_t nan = 0x7fc1, y = 0;
        struct norm_forward f = {.elem = ELEM_BF16, .channels = 1, .x = &nan, .y = &y};
        f.scale = &one;
        f.shift = &zero;
        (*loops)->norm_forward(&f, 0, 1);
        CU_ASSERT((y & 0x7f80) == 0x7f80 && (y & 0x7f) != 0);
    }
}

UNIT_SUITE("cpu.loop_norm", UNIT(sums_add_what_lies_around_the_shift),
           UNIT(forward_normalises_adds_and_rectifies), UNIT(backward_sums_mask_and_reduce),
           UNIT(backward_spreads_the_sums), UNIT(nan_passes_the_relu_and_stays_in_its_channel),
           UNIT(bf16_rounds_ties_to_even_and_keeps_nan))
