/* Evidence of this host's ranks, gathered on the master's order.
 *
 * A child (evidence/gather.h) gathers it when the master sends `gather`. The answer, `gathered`,
 * says where each rank is. A quick order is answered as soon as that is known, and a second time at
 * the end.
 *
 * Files lie in BASE/output/data/evidence-ATTEMPT. Nothing here waits for them. */
#ifndef ENTRYPOINT_HOST_GATHERER_H
#define ENTRYPOINT_HOST_GATHERER_H

#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/os/subprocess.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed, it is closed. */
struct gatherer {
    const struct services *services;
    struct rank_set *rank_set;
    void (*send)(void *context, json_t *message); /* to the master; takes the reference */
    void *context;
    struct subprocess task;
    int64_t number;   /* of the master's order */
    size_t expected;  /* ranks that are read; 0: the whole is reported at the end */
    int64_t answered; /* number of the order that the ranks have answered */
    json_t *ranks;    /* owned; findings so far */
    json_t *total;
};

/* Carries out `gather`, or answers `processes` at once. While a child runs, its findings answer a
 * later order, too. */
void gatherer_start(struct gatherer *g, const json_t *order);
/* Ends the child, if there is one; nothing is reported. */
void gatherer_end(struct gatherer *g);

#endif
