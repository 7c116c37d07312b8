/* Offset of a rank's clock from rank 0's, by exchanges with it.
 *
 * In each round every rank gathers all ranks' bytes. It cannot leave before all have entered: with
 * the times a of entering and b of leaving, each on its own clock, a rank's offset lies between
 * a[rank] - b[0] and b[rank] - a[0]. The rounds' intervals are intersected. */
#ifndef TRAINER_COMM_CLOCK_OFFSET_H
#define TRAINER_COMM_CLOCK_OFFSET_H

#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stdint.h>

enum { CLOCK_OFFSET_ROUNDS = 16 };

struct clock_offset {
    int64_t at;     /* clock_now() of this rank when it was measured */
    int64_t offset; /* this rank's clock less rank 0's, ns */
    int64_t error;  /* at most, ns */
};

/* Times of a rank's rounds. */
struct clock_rounds {
    int64_t enter[CLOCK_OFFSET_ROUNDS], leave[CLOCK_OFFSET_ROUNDS];
};

/* Collective. */
int clock_offset_measure(struct comm *c, struct clock_offset *ret, struct error *err);
/* The same from the times of rank 0 and of another rank. */
struct clock_offset clock_offset_of(const struct clock_rounds *first,
                                    const struct clock_rounds *own);

/* Returns TIME of this rank's clock on rank 0's, which is between the two measurements, or beyond
 * them, at the rate between them. */
int64_t clock_offset_apply(const struct clock_offset *start, const struct clock_offset *end,
                           int64_t time);

#endif
