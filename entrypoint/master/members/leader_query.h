/* Search of a restarted first host for the leader of the job.
 *
 * With RINGMASTER_FAILOVER another host may have taken over. The restarted host knows nothing about
 * that and gathers all hosts for a new job meanwhile. It also connects to every host that has not
 * come to it, one after the other; only a master listens.
 *
 *   to a listener   find_leader host
 *   from it         leading, if it is a master that has a quorum; else refuse code text:
 *     EXIT_CODE_NOT_READY if that may change
 *
 * No answer makes a host a master. After `leading` this host stops being one and asks the leader to
 * readmit it. Raises LED_ELSEWHERE. */
#ifndef ENTRYPOINT_MASTER_MEMBERS_LEADER_QUERY_H
#define ENTRYPOINT_MASTER_MEMBERS_LEADER_QUERY_H

#include "entrypoint/master/state/state.h"

/* Starts; the listener is open. */
void leader_query_begin(struct master *m);
/* Call it when this host has everything that it needs, which a later role does not download again,
 * or a fault. */
void leader_query_go_on(struct master *m);
void leader_query_close(struct master *m);

/* Sets an error that redirects a peer if another host is known to lead the job; 0 if none is. */
int leader_query_elsewhere(const struct master *m, struct error *err);

/* Callbacks of the link to the host that is asked; the context is the master. */
extern const struct link_events leader_query_events;

/* The other side: returns true if this host leads the job. */
bool leader_query_leads(const struct master *m);
/* Answers a `find_leader` and frees its LINK. */
void leader_query_answer(const struct master *m, struct link *link);

#endif
