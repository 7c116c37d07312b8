/* Exchange of PMI-1 at the master: what ranks that were started directly have put, and the barriers
 * in which they learn it (direct/pmi.h).
 *
 *   pairs pairs    from a host: what its ranks have put; to all hosts: what all have
 *   barrier        all ranks of a host wait
 *   passed         to all hosts: all ranks have come
 *
 * Raises FAILURE if a barrier lasts for longer than hosts may take to join, or if ranks put more
 * than a key-value space holds. */
#ifndef ENTRYPOINT_MASTER_PMI_EXCHANGE_H
#define ENTRYPOINT_MASTER_PMI_EXCHANGE_H

#include "entrypoint/master/state/state.h"

void pmi_exchange_pairs(struct member *b, const json_t *message);
void pmi_exchange_barrier(struct member *b);
void pmi_exchange_close(struct master *m);

#endif
