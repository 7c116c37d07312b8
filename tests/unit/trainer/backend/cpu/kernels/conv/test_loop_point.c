#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

struct shape_case {
    size_t rows, in, out;
};

/* Every count of rows beside those that the kernel takes at once, and several groups of channels.
 */
static const struct shape_case shapes[] = {
    {1, 32, 64}, {6, 64, 64}, {7, 96, 128}, {POINT_ROWS, 64, 192}, {2 * POINT_ROWS + 12, 32, 64},
};
enum { CASES = sizeof(shapes) / sizeof(shapes[0]) };

static double output_of(const struct shape_case *s, const void *x, const float *w, bool gradient,
                        size_t row, size_t out) {
    double sum = 0;
    for (size_t in = 0; in < s->in; in++)
        sum += (double)loop_get(x, row * s->in + in, ELEM_BF16) *
               (double)loop_bf16_round(gradient ? w[in * s->out + out] : w[out * s->in + in]);
    return sum;
}

static void check(const struct loops *loops, const struct shape_case *s, bool gradient,
                  const struct bf16_end *end) {
    void *x = loop_values(s->rows * s->in, ELEM_BF16, 0, 1);
    float *w = loop_values(s->in * s->out, ELEM_F32, 0, 2);
    void *y = loop_values(s->rows * s->out, ELEM_BF16, 5, 3);
    void *weights = loop_values(s->in * s->out, ELEM_BF16, 0, 4);
    struct own_pack pack = {s->in, s->out, gradient, w, weights};
    struct point form = {.rows = s->rows,
                         .in = s->in,
                         .out = s->out,
                         .x = x,
                         .weights = weights,
                         .y = y,
                         .end = *end};
    CU_ASSERT_FATAL(loops_have_point(loops, &form));
    form.soon[1] = y;
    loops->point_pack(&pack, 0, 1);
    loops->point_pack(&pack, 1, pack_units(&pack));
    for (size_t row = 0; row < s->rows; row += POINT_ROWS)
        loops->point_run(&form, row, row + POINT_ROWS < s->rows ? row + POINT_ROWS : s->rows);
    for (size_t row = 0; row < s->rows; row++)
        for (size_t out = 0; out < s->out; out++)
            CU_ASSERT(loop_near(
                loop_get(y, row * s->out + out, ELEM_BF16),
                loop_ended(end, row * s->out + out, out, output_of(s, x, w, gradient, row, out)),
                ELEM_BF16, (double)s->in));
    free(x);
    free(w);
    free(y);
    free(weights);
}

/* Each term of the end alone, and all of them. */
static void check_ends(const struct loops *loops, const struct shape_case *s) {
    float *bias = loop_values(s->out, ELEM_F32, 1, 6);
    void *side = loop_values(s->rows * s->out, ELEM_BF16, -1, 7);
    check(loops, s, false, &(struct bf16_end){.bias = bias});
    check(loops, s, false, &(struct bf16_end){.side = side});
    check(loops, s, false, &(struct bf16_end){.relu = true});
    check(loops, s, false, &(struct bf16_end){.bias = bias, .side = side, .relu = true});
    free(bias);
    free(side);
}

static void products_are_those_of_plain_loops(void) {
    bool any = false;
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        struct point form = {.in = 64, .out = 64};
        if (!loops_have_point(*loops, &form))
            continue;
        any = true;
        for (size_t i = 0; i < CASES; i++) {
            check(*loops, &shapes[i], false, &(struct bf16_end){0});
            check(*loops, &shapes[i], true, &(struct bf16_end){0});
            check_ends(*loops, &shapes[i]);
        }
    }
    if (!any)
        unit_skip("this processor has no bf16 products of its own");
}

static void other_shapes_are_left_to_others(void) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        struct point narrow = {.in = 64, .out = 32}, odd = {.in = 48, .out = 64};
        CU_ASSERT_FALSE(loops_have_point(*loops, &narrow));
        CU_ASSERT_FALSE(loops_have_point(*loops, &odd));
    }
}

UNIT_SUITE("cpu.loop_point", UNIT(products_are_those_of_plain_loops),
           UNIT(other_shapes_are_left_to_others))
