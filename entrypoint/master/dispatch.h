/* Execution of the actions in the table of phases (phase.h).
 *
 * Code that raises an event need not know what acts on it. */
#ifndef ENTRYPOINT_MASTER_DISPATCH_H
#define ENTRYPOINT_MASTER_DISPATCH_H

#include "entrypoint/master/state/state.h"

/* Implements master.raise. An action may raise events itself, which are handled before its row
 * continues. If an action fails, the rest of its row is skipped and LAUNCH_FAILED follows. */
void dispatch(struct master *m, const struct raised *raised);

#endif
