#include "tests/support/loop_data.h"
#include "tests/support/unit.h"

/* Loops over elements and rows, on each instruction set of this machine and in both types. COUNT
 * and CHANNELS are no multiple of any vector, so the last one is partial. */

enum { COUNT = 101, CHANNELS = 19, ROWS = 5 };

typedef void check_fn(const struct loops *loops, enum elem elem);

static void for_each(check_fn *check) {
    for (const struct loops *const *loops = loops_available(); *loops != NULL; loops++) {
        check(*loops, ELEM_F32);
        check(*loops, ELEM_BF16);
    }
}

static const struct form {
    enum pointwise function;
    bool relu, sum;
} forms[] = {
    {POINTWISE_RELU, true, false}, {POINTWISE_ADD, false, true}, {POINTWISE_ADD_RELU, true, true}};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static void check_add(const struct loops *loops, enum elem elem) {
    void *a = loop_values(COUNT, elem, 0, 1), *b = loop_values(COUNT, elem, 0, 2);
    void *y = loop_values(COUNT, elem, 0, 3);
    for (const struct form *form = forms; form < forms + FORMS; form++) {
        loops->pointwise(form->function, a, form->sum ? b : NULL, elem, y, 0, 37);
        loops->pointwise(form->function, a, form->sum ? b : NULL, elem, y, 37, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            double value = (double)loop_get(a, i, elem);
            value += form->sum ? (double)loop_get(b, i, elem) : 0;
            value = form->relu && value < 0 ? 0 : value;
            CU_ASSERT(loop_near(loop_get(y, i, elem), value, elem, 1));
        }
    }
    free(a);
    free(b);
    free(y);
}

static void add_sums_and_rectifies(void) {
    for_each(check_add);
}

static void check_relu_grad(const struct loops *loops, enum elem elem) {
    void *dy = loop_values(COUNT, elem, 0, 1), *y = loop_values(COUNT, elem, 0, 2);
    void *dx = loop_values(COUNT, elem, 0, 3);
    loop_put(y, 4, elem, 0);
    loops->pointwise(POINTWISE_RELU_GRAD, dy, y, elem, dx, 0, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        float expected = loop_get(y, i, elem) > 0 ? loop_get(dy, i, elem) : 0;
        CU_ASSERT_EQUAL(loop_get(dx, i, elem), expected);
    }
    free(dy);
    free(y);
    free(dx);
}

static void relu_grad_passes_where_the_result_was_positive(void) {
    for_each(check_relu_grad);
}

/* At the first element, inside, and at the last, in a partial vector. A NaN is not positive, but
 * passes the gradient, as a ReLU passes it; and a NaN that arrives is passed on. */
static void check_nan(const struct loops *loops, enum elem elem) {
    static const size_t places[] = {0, 33, COUNT - 1};
    void *a = loop_values(COUNT, elem, 0, 1), *b = loop_values(COUNT, elem, 0, 2);
    void *y = loop_values(COUNT, elem, 0, 3);
    for (size_t i = 0; i < 3; i++)
        loop_put(a, places[i], elem, NAN);
    for (const struct form *form = forms; form < forms + FORMS; form++) {
        int nans = 0;
        loops->pointwise(form->function, a, form->sum ? b : NULL, elem, y, 0, COUNT);
        for (size_t i = 0; i < COUNT; i++)
            nans += isnan(loop_get(y, i, elem));
        CU_ASSERT_EQUAL(nans, 3);
        for (size_t i = 0; i < 3; i++)
            CU_ASSERT(isnan(loop_get(y, places[i], elem)));
    }
    loops->pointwise(POINTWISE_RELU_GRAD, b, a, elem, y, 0, COUNT);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(loop_get(y, places[i], elem), loop_get(b, places[i], elem));
    loop_put(b, 33, elem, 1);
    loops->pointwise(POINTWISE_RELU_GRAD, a, b, elem, y, 0, COUNT);
    CU_ASSERT(isnan(loop_get(y, 33, elem)));
    free(a);
    free(b);
    free(y);
}

static void nan_is_kept(void) {
    for_each(check_nan);
}

static void check_rows(const struct loops *loops, enum elem elem) {
    void *x = loop_values(ROWS * CHANNELS, elem, 0, 1), *y = loop_values(CHANNELS, elem, 0, 2);
    loops->sum_rows(x, elem, CHANNELS, ROWS, 0.2F, y);
    for (size_t c = 0; c < CHANNELS; c++) {
        double sum = 0;
        for (size_t row = 0; row < ROWS; row++)
            sum += (double)loop_get(x, row * CHANNELS + c, elem);
        CU_ASSERT(loop_near(loop_get(y, c, elem), sum * 0.2, elem, ROWS));
    }
    float columns[CHANNELS];
    loops->sum_columns(x, elem, CHANNELS, ROWS, columns);
    for (size_t c = 0; c < CHANNELS; c++)
        CU_ASSERT(loop_near(loop_get(y, c, elem), 0.2 * (double)columns[c], elem, ROWS));
    loops->spread_row(y, elem, CHANNELS, ROWS, 0.5F, x);
    for (size_t at = 0; at < ROWS * CHANNELS; at++) {
        double expected = 0.5 * (double)loop_get(y, at % CHANNELS, elem);
        CU_ASSERT(loop_near(loop_get(x, at, elem), expected, elem, 1));
    }
    free(x);
    free(y);
}

static void rows_are_summed_and_spread(void) {
    for_each(check_rows);
}

static void check_conversion(const struct loops *loops, enum elem elem) {
    if (elem == ELEM_F32)
        return;
    void *half = loop_values(COUNT, elem, 0, 1), *back = loop_values(COUNT, elem, 0, 2);
    float wide[COUNT + 1] = {[COUNT] = 7}, first = loop_get(back, 0, elem);
    loops->widen(half, wide, 0, 37);
    loops->widen(half, wide, 37, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(wide[i], loop_get(half, i, elem));
    CU_ASSERT_EQUAL(wide[COUNT], 7);
    for (size_t i = 0; i < COUNT; i++)
        wide[i] *= 1.01F;
    loops->narrow(wide, back, 1, COUNT);
    CU_ASSERT_EQUAL(loop_get(back, 0, elem), first);
    for (size_t i = 1; i < COUNT; i++)
        CU_ASSERT_EQUAL(loop_get(back, i, elem), loop_bf16_round(wide[i]));
    free(half);
    free(back);
}

static void bf16_is_widened_exactly_and_narrowed_by_rounding(void) {
    for_each(check_conversion);
}

UNIT_SUITE("cpu.loop_elementwise", UNIT(add_sums_and_rectifies),
           UNIT(bf16_is_widened_exactly_and_narrowed_by_rounding),
           UNIT(relu_grad_passes_where_the_result_was_positive), UNIT(rows_are_summed_and_spread),
           UNIT(nan_is_kept))
