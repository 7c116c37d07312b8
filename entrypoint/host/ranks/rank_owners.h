/* Answer to the message `processes`: which of this host's ranks own processes that the master knows
 * by number (evidence/process_owner.h). */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_OWNERS_H
#define ENTRYPOINT_HOST_RANKS_RANK_OWNERS_H

#include "entrypoint/host/ranks/rank_set.h"

#include <jansson.h>

/* How many processes one order may ask about. */
enum { RANK_OWNERS_MAX = 16 };

/* Returns `owners` for ORDER, NULL where memory is out. */
json_t *rank_owners_answer(const struct rank_set *c, const json_t *order);

#endif
