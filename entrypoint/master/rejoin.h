/* Hosts that come while the job runs: lost ones that are back, and containers that were started
 * again (RINGMASTER_SHRINK). Each waits on a link of its own, which disturbs nobody, until an
 * attempt has failed or the job ends. It is one of the next attempt's hosts from then on: where it
 * is lost once more that counts like any host's loss. It may not come in place of one that is
 * counted in.
 *
 * With RINGMASTER_FAILOVER what it knows of rolls is weighed first: it is taken in where this
 * master has the right without it by that, too, and by a number that is above all that it has
 * taken. Raises BACK. */
#ifndef ENTRYPOINT_MASTER_REJOIN_H
#define ENTRYPOINT_MASTER_REJOIN_H

#include "entrypoint/master/state.h"

#include <jansson.h>

/* Whether who comes now with its first word MESSAGE comes while the job runs. */
bool rejoin_is(const struct master *m, const json_t *message);
/* Whether it may wait as B; the error is for it. EXIT_CODE_NOT_READY: it may ask again. */
int rejoin_check(const struct member *b, const json_t *message, struct error *err);
/* It has a link from now on, and waits. */
void rejoin_meet(struct member *b, struct link *link, const struct net_address *peer,
                 const json_t *message);
/* A word of one that waits. */
void rejoin_told(struct member *b, const json_t *message);

/* How many of those that wait the next attempt would have. */
size_t rejoin_count(const struct master *m);
/* They are hosts of the attempt that begins next, and no longer lost. */
void rejoin_take(struct master *m);

/* Those that have joined this host, where another one leads the job, and those that wait look for
 * whoever does. */
void rejoin_redirect(struct master *m);
/* This master is out, or the job goes on under another one (leader_query.h), and its links are cut:
 * it ends all that runs here, and asks the others in its next life. Nobody is told a verdict. */
void rejoin_ask(struct master *m);

#endif
