/* All-reduces of one size among some ranks: how long one takes and whether all sums are right. */
#ifndef TRAINER_APP_COMM_CHECK_MEASURE_MEASUREMENT_H
#define TRAINER_APP_COMM_CHECK_MEASURE_MEASUREMENT_H

#include "common/error.h"
#include "trainer/app/comm_check/measure/reducer.h"
#include "trainer/comm/comm.h"

#include <stddef.h>
#include <stdint.h>

enum { MEASURE_LATENCY_BYTES = 8, MEASURE_TIMES_MAX = 50 };

struct measurement {
    uint64_t bytes; /* of one rank's values */
    int32_t ranks;
    int32_t times;  /* timed all-reduces */
    double seconds; /* median of one all-reduce, on the slowest rank */
    uint64_t wrong; /* wrong sums over all ranks and times */
};

/* Collective among GROUP, which R was opened for: one all-reduce to warm up, then as many as fit
 * into BUDGET seconds, at least three, or one that takes long. BYTES is a multiple of 4. */
int measurement_take(struct reducer *r, struct comm *group, size_t bytes, double budget,
                     struct measurement *ret, struct error *err);

/* Returns the bus bandwidth in bytes per second, as nccl-tests defines it for an all-reduce:
 * 2 (ranks - 1) / ranks of the bytes, over the time. */
double measurement_bus_rate(const struct measurement *m);

#endif
