/* Summation, in order and on all threads, of partial sums. Private to trainer/backend/cpu. */
#ifndef TRAINER_BACKEND_CPU_BASE_PARTS_H
#define TRAINER_BACKEND_CPU_BASE_PARTS_H

#include "trainer/backend/cpu/base/context.h"

struct parts {
    const struct cpu *cpu;
    float *first; /* the first part's values, and the result; aligned to 64 */
    char *others; /* the others', parts_stride(values) bytes apart */
    size_t values, parts;
};

static inline size_t parts_stride(size_t values) {
    return backend_aligned(values * sizeof(float));
}

static inline float *parts_of(const struct parts *parts, size_t number) {
    return number == 0
               ? parts->first
               : (float *)(void *)(parts->others + parts_stride(parts->values) * (number - 1));
}

void parts_add(const struct parts *parts);

#endif
