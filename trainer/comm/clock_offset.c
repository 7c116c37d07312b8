#include "trainer/comm/clock_offset.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <stdlib.h>

struct clock_offset clock_offset_of(const struct clock_rounds *first,
                                    const struct clock_rounds *own) {
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (int i = 0; i < CLOCK_OFFSET_ROUNDS; i++) {
        const int64_t least = own->enter[i] - first->leave[i];
        const int64_t most = own->leave[i] - first->enter[i];
        low = least > low ? least : low;
        high = most < high ? most : high;
    }
    return (struct clock_offset){.at = own->leave[CLOCK_OFFSET_ROUNDS - 1],
                                 .offset = low + (high - low) / 2,
                                 .error = high > low ? (high - low + 1) / 2 : 0};
}

int clock_offset_measure(struct comm *c, struct clock_offset *ret, struct error *err) {
    const size_t ranks = (size_t)comm_size(c), rank = (size_t)comm_rank(c);
    struct clock_rounds own = {{0}, {0}};
    cleanup_free struct clock_rounds *all = calloc(ranks, sizeof(*all));
    cleanup_free char *bytes = calloc(ranks, 1);
    if (all == NULL || bytes == NULL)
        return error_no_memory(err, "times of ranks");
    for (int i = 0; i < CLOCK_OFFSET_ROUNDS; i++) {
        own.enter[i] = clock_now();
        if (comm_gather(c, "", 1, bytes, err) != 0)
            return -1;
        own.leave[i] = clock_now();
    }
    if (comm_gather(c, &own, sizeof(own), all, err) != 0)
        return -1;
    *ret = clock_offset_of(&all[0], &own);
    if (rank == 0)
        ret->offset = ret->error = 0;
    return 0;
}

int64_t clock_offset_apply(const struct clock_offset *start, const struct clock_offset *end,
                           int64_t time) {
    const int64_t span = end->at - start->at, change = end->offset - start->offset;
    const double share = span > 0 ? (double)(time - start->at) / (double)span : 0;
    return time - start->offset - (int64_t)((double)change * share);
}
