/* Lookup of the names of hosts that are missing: a name that does not resolve looks like a late
 * host otherwise. One lookup at a time, in a child (wire/resolve.h); the result is a word beside
 * the host's name in the log and in the failure file. */
#ifndef ENTRYPOINT_MASTER_MEMBERS_NAME_LOOKUP_H
#define ENTRYPOINT_MASTER_MEMBERS_NAME_LOOKUP_H

#include "entrypoint/master/state/state.h"

enum { NAME_LOOKUP_MOST = 16 }; /* of one turn */

/* Looks up the names of the first hosts that are missing, unless a turn is under way. Does nothing
 * where hosts are only counted and have no names. */
void name_lookup_start(struct master *m);
void name_lookup_close(struct master *m);

#endif
