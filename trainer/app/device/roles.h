/* Roles of ranks with parameter servers: with --servers or --server-hosts the last ranks keep and
 * update the parameters, and the others, the workers, train. Else all are workers. */
#ifndef TRAINER_APP_DEVICE_ROLES_H
#define TRAINER_APP_DEVICE_ROLES_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/comm/comm.h"

#include <stdbool.h>

struct roles {
    struct comm *all; /* borrowed; the workers come first */
    struct comm *own; /* of the ranks with this rank's role; ALL itself if there are no servers */
    int workers;
    bool serves; /* this rank is a server */
};

/* Collective. EXIT_CODE_USAGE for flags that do not fit, EXIT_CODE_CONFIG for more servers than
 * there can be. */
int roles_open(struct roles *r, const struct options *o, struct comm *all, struct error *err);
/* Collective, after success. */
void roles_done(struct roles *r);

#endif
