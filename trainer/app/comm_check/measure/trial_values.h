/* Values that ranks sum on trial: small whole numbers, other ones for each rank. Their sum in f32
 * is exact for up to TRIAL_RANKS_MAX ranks, so a sum is either right in every bit or wrong. */
#ifndef TRAINER_APP_COMM_CHECK_MEASURE_TRIAL_VALUES_H
#define TRAINER_APP_COMM_CHECK_MEASURE_TRIAL_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum { TRIAL_PERIOD = 251, TRIAL_RANKS_MAX = (1 << 24) / TRIAL_PERIOD };

void trial_values_fill(float *values, size_t count, int rank);
/* Returns how many of COUNT sums over RANKS ranks are wrong. */
uint64_t trial_values_wrong(const float *sums, size_t count, int ranks);

#endif
