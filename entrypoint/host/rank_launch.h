/* Start of this host's ranks without mpirun, on the master's order `ranks`.
 *
 * The order names the first rank of this host and the number of all; what this host itself derives
 * from the list of hosts must agree. What goes wrong is reported with `unstarted`: a shim that has
 * registered reports by itself (ranks/rank_set.h). */
#ifndef ENTRYPOINT_HOST_RANK_LAUNCH_H
#define ENTRYPOINT_HOST_RANK_LAUNCH_H

#include "entrypoint/direct/shims.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/services/services.h"

#include <jansson.h>

/* All pointers outlive it. */
struct rank_launch {
    const struct services *services;
    const char *run; /* the run ID */
    struct rank_set *rank_set;
    void (*line)(void *context, const char *line, size_t size); /* of a shim itself */
    void (*send)(void *context, json_t *message); /* to the master; takes the reference */
    void *context;
    struct shims shims;
};

void rank_launch_start(struct rank_launch *l, const json_t *order);
/* The attempt is over: shims end with it, and nothing is reported any more. L may be zeroed. */
void rank_launch_end(struct rank_launch *l);

#endif
