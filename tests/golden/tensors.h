/* Inputs of a stage, and checks of its outputs.
 *
 * Inputs are read from a file of golden values or hashed from name and index. A line `d` of the
 * file describes a tensor: how many values it has, its norm, the error of torch's f32 in units of
 * that norm, and its products with vectors of +-1 (hashed.py); or it is one number and that error.
 * The larger of FLOOR and three times that error is allowed. */
#ifndef TESTS_GOLDEN_TENSORS_H
#define TESTS_GOLDEN_TENSORS_H

#include "tests/golden/hashed.h"
#include "tests/golden/stage.h"
#include "tests/golden/values.h"

#include <math.h>

enum { PROJECTIONS = 8 };

#define FORWARD 1e-5
#define GRADIENT 1e-4

static inline void *given(struct op_graph *g, int inputs[OP_INPUTS_MAX], int slot, enum dtype dtype,
                          struct shape shape) {
    inputs[slot] = op_graph_input(g, dtype, shape, FILL_GIVEN);
    return op_graph_values(g, inputs[slot]);
}

/* Makes an input from a list in the file. */
static inline void *read_input(struct buf *text, struct op_graph *g, int inputs[OP_INPUTS_MAX],
                               int slot, enum dtype dtype, struct shape shape, const char *name) {
    struct values values = values_read(text, name);
    void *to = given(g, inputs, slot, dtype, shape);
    CU_ASSERT_EQUAL_FATAL((int64_t)values.count, shape_count(&shape));
    for (size_t i = 0; i < values.count; i++)
        value_set(to, dtype, (int64_t)i, values.at[i]);
    free(values.at);
    return to;
}

static inline void fill_hashed(float *to, size_t count, const char *name, double low, double high) {
    for (size_t i = 0; i < count; i++)
        to[i] = hashed_uniform(hashed_name(name), 1, i, low, high);
}

static inline float *hashed_input(struct op_graph *g, int inputs[OP_INPUTS_MAX], int slot,
                                  struct shape shape, const char *name, double low, double high) {
    float *to = given(g, inputs, slot, DTYPE_F32, shape);
    fill_hashed(to, (size_t)shape_count(&shape), name, low, high);
    return to;
}

static inline void judge(const char *name, double error, double theirs, double floor) {
    double bound = fmax(floor, 3 * theirs);
    if (!(error <= bound))
        printf("%s: error %.3g, torch's f32 has %.3g, allowed %.3g\n", name, error, theirs, bound);
    CU_ASSERT(error <= bound);
}

/* Checks a whole tensor against the file: its norm and its products with vectors of +-1. */
static inline void check_tensor(struct buf *text, const char *name, const float *values,
                                double floor) {
    struct values wanted = values_read(text, name);
    char stream[64];
    (void)snprintf(stream, sizeof(stream), "projection %s", name);
    double products[PROJECTIONS] = {0}, squares = 0;
    for (size_t i = 0; i < (size_t)wanted.at[0]; i++) {
        uint64_t signs = hashed(hashed_name(stream), 0, i);
        for (int k = 0; k < PROJECTIONS; k++)
            products[k] += signs >> (63 - k) & 1 ? (double)values[i] : -(double)values[i];
        squares += (double)values[i] * (double)values[i];
    }
    double norm = wanted.at[1], worst = fabs(sqrt(squares) - norm);
    for (int k = 0; k < PROJECTIONS; k++) {
        double apart = fabs(products[k] - wanted.at[3 + k]);
        worst = apart <= worst ? worst : apart; /* NaN counts as the worst */
    }
    judge(name, worst / norm, wanted.at[2], floor);
    free(wanted.at);
}

static inline void check_number(struct buf *text, const char *name, float value) {
    struct values wanted = values_read(text, name);
    judge(name, fabs((double)value / wanted.at[0] - 1), wanted.at[1], FORWARD);
    free(wanted.at);
}

static inline void check_ints(struct buf *text, const char *name, const int32_t *values,
                              size_t most) {
    struct values wanted = values_read(text, name);
    CU_ASSERT_FATAL(wanted.count <= most);
    for (size_t i = 0; i < wanted.count; i++)
        CU_ASSERT_EQUAL(values[i], (int32_t)wanted.at[i]);
    free(wanted.at);
}

#endif
