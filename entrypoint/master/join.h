/* Hosts that join: who is missing is said, and a fault of any of them is kept until all have heard
 * of it. Raises ALL_JOINED and READY_DEADLINE, and CAME where hosts gather. */
#ifndef ENTRYPOINT_MASTER_JOIN_H
#define ENTRYPOINT_MASTER_JOIN_H

#include "entrypoint/master/state.h"

/* Before all else: a stop may come before join_open. */
void join_init(struct master *m);
/* The door is open, and the others are waited for. */
void join_open(struct master *m);
/* This host has all that it needs, or a fault: it joins, and so do those who have asked. Once. */
int join_begin(struct master *m, struct error *err);
/* Nobody is waited for. */
void join_close(struct master *m);

/* It has a link from now on, and says the rest over that. */
void join_meet(struct member *b, struct link *link, const struct net_address *peer,
               const json_t *message);
/* A `join` or `fetching` of a member that has a link. */
void join_told(struct member *b, const json_t *message);

/* How far apart the host's clocks and ours are: a join says its own, and may then wait here before
 * it is weighed. */
void join_clocks(struct member *b, const json_t *message);

/* What a join says of its host becomes B's; FAULT is one of its own, or that it does not fit. */
void join_weigh(struct member *b, const json_t *message, struct error *fault);

/* A fault of ours or of a host: all hosts are still given time to join, so that they hear of it. */
void join_fault(struct master *m, const struct error *fault, int host);

/* Hosts may be taken in from now on (duplicate_name.h). */
void join_go_on(struct master *m);

/* The link of a member ended before the launch. */
void join_left(struct member *b);
/* A stop came: hosts that have not joined would wait for this one in vain, but not for long. */
void join_shorten(struct master *m);

#endif
