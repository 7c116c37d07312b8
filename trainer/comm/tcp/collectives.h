/* Collectives over a mesh of connections. All ranks make the same calls in the same order.
 *
 * Sums add in the order of the ranks (ordered_sum.h). Two ranks, or short values, exchange them
 * whole: one step. Else each rank owns a share of a segment: it gets that share of all others, adds
 * up, and sends the result to all; two steps in which each rank sends 2 (N - 1) / N of the bytes,
 * as little as a ring (Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", 2009). Segments bound the memory. Sums in shares are those of shares.h. */
#ifndef TRAINER_COMM_TCP_COLLECTIVES_H
#define TRAINER_COMM_TCP_COLLECTIVES_H

#include "common/error.h"
#include "trainer/comm/tcp/exchange.h"
#include "trainer/comm/work_queue.h"

enum {
    COLLECTIVES_SEGMENT_BYTES = 8 << 20, /* of each rank's values, in one round of a sum */
    COLLECTIVES_SHORT_BYTES = 64 << 10,  /* from all ranks together */
};

struct collectives {
    struct rank_exchange exchange;
    uint64_t number; /* of the works so far */
    void *scratch;   /* owned; what comes in before it is added */
    size_t scratch_bytes;
    const void **pieces; /* owned; one a rank */
    struct shares_memory shares;
};

/* MESH has to outlive it. */
int collectives_init(struct collectives *c, const struct mesh *mesh, struct error *err);
void collectives_done(struct collectives *c);

/* Carries out a sum, broadcast, gather or barrier by the DEADLINE (clock.h); errors as in
 * exchange.h. */
int collectives_perform(struct collectives *c, const struct work *work, int64_t deadline,
                        struct error *err);

#endif
