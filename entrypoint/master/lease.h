/* Heartbeats: whether hosts are there, and by how much their clocks differ from ours. Raises
 * HOST_GONE for one that is silent, and ALL_ANSWERED. */
#ifndef ENTRYPOINT_MASTER_LEASE_H
#define ENTRYPOINT_MASTER_LEASE_H

#include "entrypoint/master/state.h"

int lease_open(struct master *m, struct error *err);
void lease_close(struct master *m);
/* An answer to a heartbeat. */
void lease_alive(struct member *b, const json_t *message);
/* A heartbeat of its own, for a host that has joined. */
void lease_greet(struct member *b);
/* Whether the host has answered a heartbeat that was sent at SINCE, clock_boot(), or later. */
bool lease_answered(const struct member *b, int64_t since);
/* A heartbeat for all hosts at once, in place of the next one's time. */
void lease_ask(struct master *m);
/* Whether no host can have given this master up: all that are left have answered a heartbeat of the
 * last half of a lease. Where some have not, they are asked, and ALL_ANSWERED is raised when they
 * have answered; whoever does not is lost. */
bool lease_is_sure(struct master *m);
/* The host is lost to the job. */
void lease_lose(struct member *b, const char *why);

/* Where the first host may be lost: whether the hosts that have answered heartbeats of the last
 * lease are too few for this master to act. Asked before anything is done, raised as OUT. */
bool lease_is_out(const struct master *m);
/* Those hosts. While hosts gather, those that have joined: to dial is to vote. */
struct host_set lease_hosts(const struct master *m);
/* Whether they would be enough by LEDGER, too. */
bool lease_allows(const struct master *m, const struct quorum *quorum);
/* How many of the attempt's hosts have. */
size_t lease_heard(const struct master *m);
/* All hosts that are left have answered what was sent at SINCE, clock_boot(). */
void lease_begin(struct master *m, int64_t since);

#endif
