/* A host that follows a lost master: it listens for those that have lost it, too, and begins the
 * next attempt with them when they are enough by all that they know (outcome/quorum.h) and nothing
 * of the old attempt can run any more (host/role_state.h). Raises GATHERED, OUT, and LAUNCH_FAILED.
 */
#ifndef ENTRYPOINT_MASTER_TAKEOVER_H
#define ENTRYPOINT_MASTER_TAKEOVER_H

#include "entrypoint/master/state.h"

#include <jansson.h>

void takeover_init(struct master *m);
void takeover_close(struct master *m);

/* In place of joining, in a life that is not the first one: who may come. */
void takeover_open(struct master *m);
/* This host has all that it needs. */
void takeover_begin(struct master *m);
/* Whether HOST with its first word MESSAGE may be one of them; the error is for it. */
int takeover_check(const struct master *m, size_t host, const json_t *message, struct error *err);
/* It is one of them from now on. */
void takeover_admit(struct member *b, const json_t *message);
/* Someone may have come: begins, or goes on waiting. */
void takeover_check_quorum(struct master *m);
/* Those that have not come are lost, and the attempt is the next one. */
void takeover_end(struct master *m);

#endif
