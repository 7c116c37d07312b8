/* The master's door while hosts join: who is missing is said, who does not fit is refused, a fault
 * of any of them is kept until all have heard of it. It is open from the start, also while this
 * host or others fetch what they need (fetching.h). Raises ALL_JOINED and READY_DEADLINE. */
#ifndef MASTER_JOIN_H
#define MASTER_JOIN_H

#include "master/state.h"

/* Before all else: a stop may come before join_open. */
void join_init(struct master *m);
/* EVENTS are of the links of members, from their first word on; the context is the member. */
int join_open(struct master *m, const struct link_events *events, struct error *err);
/* This host has all that it needs, or a fault: it joins, and so do those who have asked. Once. */
int join_begin(struct master *m, struct error *err);
void join_close(struct master *m);

/* A `join` or `fetching` of a member that has a link. */
void join_told(struct member *b, const json_t *message);

/* What a join says of its host becomes B's; FAULT is one of its own, or that it does not fit. */
void join_weigh(struct member *b, const json_t *message, struct error *fault);

/* A name that nothing else has. */
int join_draw_name(char ret[ATTEMPT_RUN_SIZE], struct error *err);

/* Hosts may be taken in from now on (namesake.h). */
void join_go_on(struct master *m);

/* Nobody is told why: the door is closed, and each finds out for itself that this host is gone. */
void join_part(struct master *m);

/* The link of a member ended before the launch. */
void join_left(struct member *b);
/* A stop came: hosts that have not joined would wait for this one in vain, but not for long. */
void join_hurry(struct master *m);

#endif
