#include "trainer/app/comm_check/measure/trial_values.h"

/* Values are whole numbers below TRIAL_PERIOD, another sequence on each rank. As their sum over
 * TRIAL_RANKS_MAX ranks stays below 2^24, floats add them exactly in any order, and every sum can
 * be compared without a tolerance. */
static int value_of(int place, int rank) {
    return (place * 7 + rank % TRIAL_PERIOD * 13) % TRIAL_PERIOD;
}

void trial_values_fill(float *values, size_t count, int rank) {
    float period[TRIAL_PERIOD];
    for (int i = 0; i < TRIAL_PERIOD; i++)
        period[i] = (float)value_of(i, rank);
    for (size_t i = 0; i < count; i += TRIAL_PERIOD)
        for (size_t k = 0; k < TRIAL_PERIOD && i + k < count; k++)
            values[i + k] = period[k];
}

/* The sums repeat with the period, so that they are computed once for all places. */
uint64_t trial_values_wrong(const float *sums, size_t count, int ranks) {
    float period[TRIAL_PERIOD] = {0};
    for (int rank = 0; rank < ranks; rank++)
        for (int i = 0; i < TRIAL_PERIOD; i++)
            period[i] += (float)value_of(i, rank);
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i += TRIAL_PERIOD)
        for (size_t k = 0; k < TRIAL_PERIOD && i + k < count; k++)
            wrong += !(sums[i + k] == period[k]); /* NaN is wrong, too */
    return wrong;
}
