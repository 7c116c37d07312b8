/* Column sums of a matrix in f32, for bias gradients: chunks of its rows are summed in f32, side
 * by side, and the chunks in double. The result does not depend on the number of threads. */
#ifndef TRAINER_BACKEND_CPU_BASE_COLUMNS_H
#define TRAINER_BACKEND_CPU_BASE_COLUMNS_H

#include "trainer/backend/cpu/kernels/loops.h"

struct columns {
    const struct loops *loops;
    int threads;
    const void *x; /* [rows, channels] */
    enum elem elem;
    size_t rows, channels;
    float *sums;    /* [channels] */
    float *partial; /* columns_scratch() bytes */
};

size_t columns_scratch(size_t rows, size_t channels);
void columns_run(const struct columns *c);

#endif
