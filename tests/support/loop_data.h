/* Rows of f32 or bf16 for tests of the CPU's loops.
 *
 * They are made from a seed, read and written as float whatever their type. A runner goes over
 * every instruction set that this machine has. */
#ifndef TESTS_SUPPORT_LOOP_DATA_H
#define TESTS_SUPPORT_LOOP_DATA_H

#include "trainer/backend/cpu/kernels/loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline float loop_bf16_round(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000U;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float loop_get(const void *base, size_t at, enum elem elem) {
    if (elem == ELEM_F32)
        return ((const float *)base)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)base)[at] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void loop_put(void *base, size_t at, enum elem elem, float value) {
    if (elem == ELEM_F32) {
        ((float *)base)[at] = value;
        return;
    }
    value = loop_bf16_round(value);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    ((uint16_t *)base)[at] = (uint16_t)(bits >> 16);
}

/* COUNT values around CENTER, aligned to 64 bytes; free() them. */
static inline void *loop_values(size_t count, enum elem elem, float center, uint32_t seed) {
    size_t bytes = (count * elem_size(elem) + 127) / 64 * 64;
    void *values = aligned_alloc(64, bytes);
    if (values == NULL)
        abort();
    memset(values, 0, bytes);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525U + 1013904223U;
        loop_put(values, i, elem, center + (float)(seed >> 8) / 8388608.0F - 1.0F);
    }
    return values;
}

/* Returns COUNT floats that end where their memory does. None may be read before it is written: all
 * are NaN, which shows in every sum. */
static inline float *loop_unwritten(size_t count) {
    void *values = NULL;
    if (posix_memalign(&values, 64, count * sizeof(float)) != 0)
        abort();
    memset(values, 0xff, count * sizeof(float));
    return values;
}

/* Returns what a bf16 kernel writes for SUM at element AT of a result, which belongs to output
 * OUT. */
static inline double loop_ended(const struct bf16_end *end, size_t at, size_t out, double sum) {
    if (end->bias != NULL)
        sum += (double)end->bias[out];
    if (end->side != NULL)
        sum += (double)loop_get(end->side, at, ELEM_BF16);
    return end->relu && sum < 0 ? 0 : sum;
}

/* Returns whether VALUE is EXPECTED within the rounding of ELEM and f32 noise of size SCALE. */
static inline bool loop_near(float value, double expected, enum elem elem, double scale) {
    double bound = 1e-6 * (scale + fabs(expected));
    if (elem == ELEM_BF16)
        bound += fabs(expected) / 256;
    return fabs((double)value - expected) <= bound;
}

#endif
