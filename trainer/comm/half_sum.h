/* Sum of f32 over all ranks that travels in half precision. That is half the bytes. Every rank's
 * values are rounded once, added in f32 in the order of the ranks, and with more than two ranks the
 * sum is rounded once more. What travels then is the sum divided by a power of two that is not
 * below the number of ranks. It thereby overflows only where a rank's own value does.
 *
 * All ranks get the same bits, which do not depend on how values are cut into calls or what
 * connects the ranks. A value that is not finite, or overflows in f16 (65,520 and more), is
 * infinite or NaN on all ranks afterwards. Below 2^-14 f16 has steps of 2^-24, and no more than
 * zero below 2^-25.
 *
 * PyTorch's fp16_compress_hook and bf16_compress_hook divide, round, and add in half precision. */
#ifndef TRAINER_COMM_HALF_SUM_H
#define TRAINER_COMM_HALF_SUM_H

#include "common/error.h"
#include "trainer/comm/shares.h"

#include <stddef.h>

/* Elements of which a round consists: that bounds the memory. */
enum { HALF_SUM_ROUND = 2 << 20 };

/* Collective. TYPE is COMM_F32_AS_F16 or COMM_F32_AS_BF16. All ranks make the same number of runs,
 * one at least: with two ranks one a round, else two. */
int half_sum(const struct shares_exchange *x, float *values, size_t count, enum comm_type type,
             struct error *err);

#endif
