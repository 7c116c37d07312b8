/* Heartbeats to all hosts, their leases and clock offsets.
 *
 * A host that does not answer for a lease is lost. Raises HOST_GONE for it, ALL_ANSWERED and
 * QUORUM_LOST. */
#ifndef ENTRYPOINT_MASTER_MEMBERS_LEASE_H
#define ENTRYPOINT_MASTER_MEMBERS_LEASE_H

#include "entrypoint/master/state/state.h"

int lease_open(struct master *m, struct error *err);
void lease_close(struct master *m);
/* Handles an answer to a heartbeat. */
void lease_alive(struct member *b, const json_t *message);
/* Sends a heartbeat to one host that has just joined. */
void lease_greet(struct member *b);
/* Returns true if the host has answered a heartbeat sent at SINCE (clock_boot()) or later. */
bool lease_answered(const struct member *b, int64_t since);
/* Sends a heartbeat to all hosts at once instead of at the next interval. */
void lease_ask(struct master *m);
/* Returns true if no host can have given up this master: all hosts left have answered a heartbeat
 * of the last half lease. Otherwise the others are asked, and ALL_ANSWERED is raised once they have
 * answered; a host that does not is lost. */
bool lease_is_sure(struct master *m);
/* Marks the host lost. */
void lease_lose(struct member *b, const char *why);
/* Likewise a host without ranks: nothing of it can run, so no attempt is affected. Raises
 * ALL_ANSWERED if it was the last that was waited for. */
void lease_drop_spare(struct member *b, const char *why);

/* With failover: returns true if the hosts that have answered heartbeats of the last lease are too
 * few for this master to act. It is checked before any event is handled, and raised as QUORUM_LOST.
 */
bool lease_is_out(const struct master *m);
/* Returns these hosts. After a failover, while hosts gather, these are the hosts that have joined:
 * to connect is to vote. */
struct host_set lease_hosts(const struct master *m);
/* Returns true if they are enough by QUORUM, too. */
bool lease_allows(const struct master *m, const struct quorum *quorum);
/* Returns how many of the attempt's hosts have answered. */
size_t lease_heard(const struct master *m);
/* Starts the leases: all hosts left have answered what was sent at SINCE (clock_boot()). */
void lease_begin(struct master *m, int64_t since);

#endif
