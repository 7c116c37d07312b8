/* Hosts that are there and still fetch what they need: each may take as long as it gets further. A
 * host's time to join runs from the last word of that, and from the opening of the door for one
 * that has said nothing (fetching is a state of joining, phase.h). */
#ifndef ENTRYPOINT_MASTER_FETCH_WAIT_H
#define ENTRYPOINT_MASTER_FETCH_WAIT_H

#include "entrypoint/master/state.h"

/* The door is open: everybody's time begins. */
void fetch_wait_open(struct master *m);

/* It is there, and as far as MARK says: its first word, or one of another step forward. At the
 * first it, and those that it passes on to, are told whom they ask, where they cannot know. */
void fetch_wait_told(struct member *b, const struct fetch_progress *mark);
/* It has gone again. Its time runs on. */
void fetch_wait_left(struct member *b);

/* The host whose time is over first, of those that have neither joined nor asked to; NULL where
 * there is none. *RET is when that is. */
struct member *fetch_wait_first(struct master *m, int64_t *ret);

/* Who has no link, and who fetches and how far it is, for people. */
enum { FETCH_WAIT_NAMES_MAX = 512 };
size_t fetch_wait_missing(const struct master *m, char text[FETCH_WAIT_NAMES_MAX]);
size_t fetch_wait_busy(const struct master *m, char text[FETCH_WAIT_NAMES_MAX]);

#endif
