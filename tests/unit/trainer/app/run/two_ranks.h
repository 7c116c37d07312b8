/* Communicator of several ranks, of which one is present.
 *
 * Ranks take turns: what rank 0 sends to all is kept for the ranks that run after it. The other
 * rank's part of sums and gathered bytes is made up. */
#ifndef TESTS_UNIT_TRAINER_APP_RUN_TWO_RANKS_H
#define TESTS_UNIT_TRAINER_APP_RUN_TWO_RANKS_H

#include "tests/support/unit.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"

#include <string.h>

enum { TOLD_MAX = 1 << 16 };

struct two_ranks {
    struct comm base;
    const float *other; /* of the rank that is not here */
    char told[TOLD_MAX];
    size_t size, heard;
    bool gone; /* every call fails */
};

static int pretend(struct two_ranks *two, struct error *err) {
    return two->gone ? error_set(err, EXIT_CODE_STALLED, "a rank is gone") : 0;
}

static int pretend_sum(struct comm *c, void *values, size_t count, enum comm_type type,
                       uint64_t *ret_ticket, struct error *err) {
    struct two_ranks *two = (struct two_ranks *)c;
    CU_ASSERT_EQUAL(type, COMM_F32);
    for (size_t i = 0; !two->gone && i < count; i++)
        ((float *)values)[i] += two->other[i];
    *ret_ticket = 1;
    return pretend(two, err);
}

static int pretend_wait(struct comm *c, uint64_t ticket, struct error *err) {
    CU_ASSERT_EQUAL(ticket, 1);
    return pretend((struct two_ranks *)c, err);
}

static int pretend_gather(struct comm *c, const void *bytes, size_t size, void *all,
                          struct error *err) {
    struct two_ranks *two = (struct two_ranks *)c;
    for (int r = 0; r < c->size; r++)
        memcpy((char *)all + (size_t)r * size, r == c->rank ? bytes : two->other, size);
    return pretend(two, err);
}

static int pretend_broadcast(struct comm *c, void *bytes, size_t size, int root,
                             struct error *err) {
    struct two_ranks *two = (struct two_ranks *)c;
    CU_ASSERT_EQUAL(root, 0);
    if (c->rank == root) {
        CU_ASSERT_FATAL(two->size + size <= TOLD_MAX);
        memcpy(two->told + two->size, bytes, size);
        two->size += size;
    } else {
        CU_ASSERT_FATAL(two->heard + size <= two->size);
        memcpy(bytes, two->told + two->heard, size);
        two->heard += size;
    }
    return pretend(two, err);
}

static const struct comm_driver TWO_RANKS = {.sum_start = pretend_sum,
                                             .wait = pretend_wait,
                                             .broadcast = pretend_broadcast,
                                             .gather = pretend_gather};

/* From here on the communicator is that of rank RANK of RANKS. */
static struct comm *is_rank(struct two_ranks *two, int rank, int ranks) {
    two->base = (struct comm){.driver = &TWO_RANKS, .rank = rank, .size = ranks};
    return &two->base;
}

#endif
