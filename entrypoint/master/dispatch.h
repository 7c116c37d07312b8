/* Does what the table of phases says: who raises an event need not know who does what comes of it.
 */
#ifndef ENTRYPOINT_MASTER_DISPATCH_H
#define ENTRYPOINT_MASTER_DISPATCH_H

#include "entrypoint/master/state.h"

/* For master.raise. An action may raise events itself, which are dealt with before its row goes on.
 * Where one fails, the rest of its row is left out, and LAUNCH_FAILED follows. */
void dispatch(struct master *m, const struct raised *raised);

#endif
