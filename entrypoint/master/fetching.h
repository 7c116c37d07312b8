/* Hosts that are there and still fetch what they need: each may take as long as it gets further. A
 * host's time to join runs from the last word of that, and from the opening of the door for one
 * that has said nothing (fetching is a state of joining, phase.h). */
#ifndef MASTER_FETCHING_H
#define MASTER_FETCHING_H

#include "entrypoint/master/state.h"

/* The door is open: everybody's time begins. */
void fetching_open(struct master *m);

/* It is there, and as far as MARK says: its first word, or one of another step forward. At the
 * first it, and those that it passes on to, are told whom they ask, where they cannot know. */
void fetching_told(struct member *b, const struct mark *mark);
/* It has gone again. Its time runs on. */
void fetching_left(struct member *b);

/* The host whose time is over first, of those that have neither joined nor asked to; NULL where
 * there is none. *RET is when that is. */
struct member *fetching_first(struct master *m, int64_t *ret);

/* Who has no link, and who fetches and how far it is, for people. */
enum { FETCHING_NAMES_MAX = 512 };
size_t fetching_missing(const struct master *m, char text[FETCHING_NAMES_MAX]);
size_t fetching_busy(const struct master *m, char text[FETCHING_NAMES_MAX]);

#endif
