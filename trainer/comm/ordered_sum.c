#include "trainer/comm/ordered_sum.h"

#include <string.h>

/* Elements that stay in the nearest cache while all ranks' are added. */
enum { BLOCK = 1024 };

static size_t block_at(size_t at, size_t count) {
    return count - at < BLOCK ? count - at : BLOCK;
}

static void sum_f32(float *to, const void *const *pieces, int ranks, size_t count) {
    float sum[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        const size_t n = block_at(at, count);
        memcpy(sum, (const float *)pieces[0] + at, n * sizeof(*sum));
        for (int rank = 1; rank < ranks; rank++) {
            const float *piece = (const float *)pieces[rank] + at;
            for (size_t i = 0; i < n; i++)
                sum[i] += piece[i];
        }
        memcpy(to + at, sum, n * sizeof(*sum));
    }
}

static void sum_f64(double *to, const void *const *pieces, int ranks, size_t count) {
    double sum[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        const size_t n = block_at(at, count);
        memcpy(sum, (const double *)pieces[0] + at, n * sizeof(*sum));
        for (int rank = 1; rank < ranks; rank++) {
            const double *piece = (const double *)pieces[rank] + at;
            for (size_t i = 0; i < n; i++)
                sum[i] += piece[i];
        }
        memcpy(to + at, sum, n * sizeof(*sum));
    }
}

void ordered_sum(void *to, const void *const *pieces, int ranks, size_t count,
                 enum comm_type type) {
    if (type == COMM_F32)
        sum_f32(to, pieces, ranks, count);
    else
        sum_f64(to, pieces, ranks, count);
}
