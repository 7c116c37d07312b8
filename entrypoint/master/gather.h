/* A host that follows a lost master: it listens for those that have lost it, too, and begins the
 * next attempt with them when they are enough by all that they know (outcome/ledger.h) and nothing
 * of the old attempt can run any more (host/succession.h). Raises GATHERED, OUT, and LAUNCH_FAILED.
 */
#ifndef MASTER_GATHER_H
#define MASTER_GATHER_H

#include "entrypoint/master/state.h"

#include <jansson.h>

void gather_init(struct master *m);
void gather_close(struct master *m);

/* In place of joining, in a life that is not the first one: who may come. */
void gather_open(struct master *m);
/* This host has all that it needs. */
void gather_begin(struct master *m);
/* Whether HOST with its first word MESSAGE may be one of them; the error is for it. */
int gather_check(const struct master *m, size_t host, const json_t *message, struct error *err);
/* It is one of them from now on. */
void gather_admit(struct member *b, const json_t *message);
/* Someone may have come: begins, or goes on waiting. */
void gather_look(struct master *m);
/* Those that have not come are lost, and the attempt is the next one. */
void gather_end(struct master *m);

#endif
