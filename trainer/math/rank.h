/* Order of scores as integers, for sorts and radix selects.
 *
 * A sort needs nothing else: the greater integer comes first. The higher score comes first; of
 * equal ones, and +0 and -0 are equal, the lower position; NaN comes last. */
#ifndef TRAINER_MATH_RANK_H
#define TRAINER_MATH_RANK_H

#include "trainer/math/kernel.h"

#include <stdint.h>
#include <string.h>

KERNEL uint32_t rank_of_score(float score) {
    uint32_t bits;
    float number = score == 0 ? 0 : score;
    if (!(score == score))
        return 0;
    memcpy(&bits, &number, sizeof(bits));
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

/* Returns the integer for a score and its position; no two are equal. */
KERNEL uint64_t rank_of(float score, int place) {
    return (uint64_t)rank_of_score(score) << 32 | (uint32_t) ~(uint32_t)place;
}

KERNEL int rank_place(uint64_t rank) {
    return (int)~(uint32_t)rank;
}

#endif
