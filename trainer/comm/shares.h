/* Sums of which each rank gets its share, and the way back. Both consist of exchanges of parts
 * between all ranks, which the drivers over MPI and TCP have in common.
 *
 * A rank sends to each owner that owner's share of its values and adds up what it gets of its own,
 * in the order of the ranks (ordered_sum.h). So the bits are those of an all-reduce that adds in
 * this order. Each rank sends (N - 1) / N of the bytes, as little as a ring does. Rounds bound the
 * memory. */
#ifndef TRAINER_COMM_SHARES_H
#define TRAINER_COMM_SHARES_H

#include "common/error.h"
#include "trainer/comm/comm_type.h"

#include <stddef.h>

/* From all ranks together, in one round. */
enum { SHARES_ROUND_BYTES = 8 << 20 };

/* Memory for what travels before it is added; zeroed at first. */
struct shares_memory {
    void *bytes;
    size_t size;
    const void **pieces;
};

/* How a driver moves parts. */
struct shares_exchange {
    int rank, ranks;
    struct comm_part *parts; /* borrowed; one a rank, zero before and after each run; the rank's own
                              * is not looked at */
    int (*run)(void *user, struct error *err);
    void *user;
    struct shares_memory *memory; /* borrowed */
};

void shares_memory_done(struct shares_memory *m);
/* Makes room for BYTES, and for a piece a rank. */
int shares_memory_need(const struct shares_exchange *x, size_t bytes, struct error *err);

/* Returns the index at which rank RANK's share of COUNT things begins if they are divided evenly;
 * with RANKS itself, the end of the last share. */
static inline size_t shares_even_at(size_t count, int rank, int ranks) {
    const size_t each = count / (size_t)ranks, rest = count % (size_t)ranks;
    return each * (size_t)rank + ((size_t)rank < rest ? (size_t)rank : rest);
}

static inline size_t shares_even_size(size_t count, int rank, int ranks) {
    return shares_even_at(count, rank + 1, ranks) - shares_even_at(count, rank, ranks);
}

/* Collective; see comm.h. All ranks make the same number of runs, one at least. */
int shares_sum(const struct shares_exchange *x, float *values, const struct comm_shares *shares,
               struct error *err);
int shares_spread(const struct shares_exchange *x, float *values, const struct comm_shares *shares,
                  struct error *err);

#endif
