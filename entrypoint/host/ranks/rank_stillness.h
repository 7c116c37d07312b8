/* Stillness of this host's ranks: for how long none of them has made progress or printed anything,
 * and whether they use a processor meanwhile. The master asks for evidence when all hosts stand
 * still (master/standing.h). */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_STILLNESS_H
#define ENTRYPOINT_HOST_RANKS_RANK_STILLNESS_H

#include "entrypoint/evidence/gather_order.h"
#include "entrypoint/host/ranks/rank_set.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_stillness {
    int64_t still; /* ns since the last sign of any rank that runs; -1: none runs */
    bool busy;     /* they use a processor, or it is not known yet */
};

/* Looks at the ranks; call it with every heartbeat. NOW is clock_now(). */
struct rank_stillness rank_stillness_look(struct rank_set *c, int64_t now);

/* Until this time of clock_now() what ranks print is no sign of them: it answers a signal on which
 * Python's faulthandler prints stacks. Progress counts all the same. */
void rank_stillness_echo(struct rank_set *c, int64_t until);

/* Adds `still` (ms) and `busy` to a heartbeat's answer, if ranks run. */
void rank_stillness_put(struct rank_set *c, json_t *message);

/* Writes the ranks that run, at most MAX; returns their number. */
size_t rank_stillness_list(const struct rank_set *c, struct gather_rank *ret, size_t max);

#endif
