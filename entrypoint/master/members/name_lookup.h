/* Lookup of the names of hosts that are missing: a name that does not resolve looks like a late
 * host otherwise. The result is a word beside the host's name in the log and in the failure file.
 *
 * A turn covers all of them within RESOLVE_SECONDS (wire/resolve.h), NAME_LOOKUP_BESIDE at a time,
 * each in a child; its log line has the first few names and the number of the others. */
#ifndef ENTRYPOINT_MASTER_MEMBERS_NAME_LOOKUP_H
#define ENTRYPOINT_MASTER_MEMBERS_NAME_LOOKUP_H

#include "entrypoint/master/state/state.h"

/* Looks up the names of the hosts that are missing, unless a turn is under way. Does nothing where
 * hosts are only counted and have no names. */
void name_lookup_start(struct master *m);
void name_lookup_close(struct master *m);

#endif
