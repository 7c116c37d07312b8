/* Admission of hosts that join a job.
 *
 * Missing hosts are listed in the log, and the first fault of a host is kept until all hosts have
 * learned of it. Raises ALL_JOINED and READY_DEADLINE, and PEER_ARRIVED after a failover. */
#ifndef ENTRYPOINT_MASTER_MEMBERS_JOIN_H
#define ENTRYPOINT_MASTER_MEMBERS_JOIN_H

#include "entrypoint/master/state/state.h"

/* Call it first: a stop may come before join_open(). */
void join_init(struct master *m);
/* Starts waiting for the other hosts; the listener is open. */
void join_open(struct master *m);
/* Call it once, when this host has everything that it needs, or a fault: it joins, and hosts that
 * have asked to join are admitted. */
int join_begin(struct master *m, struct error *err);
/* Stops waiting. */
void join_close(struct master *m);

/* Gives the member a link, over which it sends everything else. */
void join_meet(struct member *b, struct link *link, const struct net_address *peer,
               const json_t *message);
/* Handles a `join` or `fetching` message of a member that has a link. */
void join_receive(struct member *b, const json_t *message);

/* Measures the difference of the clocks. A join holds the host's time, and may then wait here
 * before it is evaluated. */
void join_clocks(struct member *b, const json_t *message);

/* Takes over what a join says about its host; FAULT is the host's own, or says that it does not
 * fit. */
void join_weigh(struct member *b, const json_t *message, struct error *fault);

/* Records a fault of this host or another one: all hosts still get time to join, so that they learn
 * of it. */
void join_fault(struct master *m, const struct error *fault, int host);

/* Allows hosts to be admitted (duplicate_name.h). */
void join_go_on(struct master *m);

/* Handles the end of a member's link before the launch. */
void join_left(struct member *b);
/* Shortens the time to join after a stop: hosts that join in that time learn of it. */
void join_shorten(struct master *m);

#endif
