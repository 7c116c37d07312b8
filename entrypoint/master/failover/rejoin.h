/* Hosts that connect while the job runs: lost hosts that are back, and restarted containers
 * (RINGMASTER_SHRINK).
 *
 * Each waits on a link of its own, without effect on the job, until an attempt has failed or the
 * job ends. From then on it is one of the next attempt's hosts, and its loss counts like any other.
 * It cannot replace a host that takes part in the current attempt.
 *
 * With RINGMASTER_FAILOVER the views that it knows are checked first: it is readmitted if this
 * master has a quorum without it in these views, too, and if the attempt's number is above all that
 * it has accepted. Raises HOST_REJOINED.
 */
#ifndef ENTRYPOINT_MASTER_FAILOVER_REJOIN_H
#define ENTRYPOINT_MASTER_FAILOVER_REJOIN_H

#include "entrypoint/master/state/state.h"

#include <jansson.h>

/* Returns true if the peer with the first message MESSAGE connects while the job runs. */
bool rejoin_is(const struct master *m, const json_t *message);
/* Checks if the peer may wait as B; the error is for the peer. EXIT_CODE_NOT_READY: it may ask
 * again. */
int rejoin_check(const struct member *b, const json_t *message, struct error *err);
/* Gives the member its link; it waits from now on. */
void rejoin_meet(struct member *b, struct link *link, const struct net_address *peer,
                 const json_t *message);
/* Handles a message of a member that waits. */
void rejoin_receive(struct member *b, const json_t *message);

/* Returns how many waiting hosts the next attempt would have. */
size_t rejoin_count(const struct master *m);
/* Makes them hosts of the next attempt; they are no longer lost. */
void rejoin_take(struct master *m);

/* Tells the hosts that have joined this one, and those that wait, to look for the leader, as
 * another host leads the job. */
void rejoin_redirect(struct master *m);
/* This master has lost its quorum, or another host leads the job (leader_query.h), and its links
 * are closed. Ends everything that runs here, and asks the others to be readmitted in the next
 * role. No verdict is sent. */
void rejoin_ask(struct master *m);

#endif
