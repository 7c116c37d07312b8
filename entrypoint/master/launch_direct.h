/* Launch by the supervisors: every host is ordered to start the shims of its own ranks.
 *
 *   ranks first size       to each host: start your shims, from rank FIRST of SIZE on
 *   unstarted text         a host could not, or one of its shims ended before its program began
 *
 * Raises FAILURE for the latter. There is no process on this host that stands for the launch: ranks
 * are ended by orders to their hosts alone. */
#ifndef ENTRYPOINT_MASTER_LAUNCH_DIRECT_H
#define ENTRYPOINT_MASTER_LAUNCH_DIRECT_H

#include "entrypoint/master/state/state.h"

/* A host's `unstarted`. */
void launch_direct_unstarted(struct member *b, const json_t *message);

#endif
