/* The `ringmaster check` command, as the master runs it.
 *
 * All hosts join as for a job and examine themselves and the network (preflight.h). Instead of a
 * launch the master then prints rows with the findings and marks what would cause trouble. */
#ifndef ENTRYPOINT_MASTER_PREFLIGHT_CHECK_H
#define ENTRYPOINT_MASTER_PREFLIGHT_CHECK_H

#include "common/error.h"
#include "entrypoint/master/state/state.h"

/* Prints the rows, as one JSON object if m->json, and sets the verdict: that of the first bad row,
 * else success. */
int check_print(struct master *m, struct error *err);

#endif
