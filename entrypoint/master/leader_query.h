/* Whether the job goes on under another host, asked by a first host that is started anew where it
 * may be lost (RINGMASTER_FAILOVER): it knows nothing of a job, and gathers all hosts for a new one
 * meanwhile. All others that have not come to it are dialled, one after the other, as only a master
 * listens.
 *
 *   to who listens   seek host
 *   from it          leads, from a master that has the right to act; refuse code text, from any
 *                    other: EXIT_CODE_NOT_READY where that may change
 *
 * No answer makes anybody a master: at `leads` this one stops being one, and asks there to be taken
 * back. Raises ELSEWHERE. */
#ifndef ENTRYPOINT_MASTER_LEADER_QUERY_H
#define ENTRYPOINT_MASTER_LEADER_QUERY_H

#include "entrypoint/master/state.h"

/* The door is open. */
void leader_query_begin(struct master *m);
/* This host has all that it needs, which a later life does not fetch, or a fault. */
void leader_query_go_on(struct master *m);
void leader_query_close(struct master *m);

/* Who comes is sent on where the job is known to go on under another host; 0: it is not. */
int leader_query_elsewhere(const struct master *m, struct error *err);

/* Of the link to the host that is asked; the context is the master. */
extern const struct link_events leader_query_events;

/* The other side: whether the job goes on under this host. */
bool leader_query_leads(const struct master *m);
/* The answer to a `seek`, whose LINK is freed. */
void leader_query_answer(const struct master *m, struct link *link);

#endif
