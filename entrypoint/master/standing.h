/* A job that stands still: when no host has seen a sign of its ranks for a while (evidence/
 * standstill.h), all hosts gather evidence, and this one says which ranks wait for which
 * (evidence/stuck.h).
 *
 * A suspicion is a warning. It ends the job only if the user has set RINGMASTER_STALL_SECONDS and
 * the silence lasts so long. Before a stall ends the ranks, evidence is gathered, too. */
#ifndef ENTRYPOINT_MASTER_STANDING_H
#define ENTRYPOINT_MASTER_STANDING_H

#include "entrypoint/master/state/state.h"

void standing_open(struct master *m);
void standing_close(struct master *m);
/* Forgets what belongs to an attempt that is over. */
void standing_reset(struct master *m);

/* Takes what a heartbeat's answer says about the host's ranks. */
void standing_receive(struct member *b, const json_t *alive);

/* A rank has stalled: gathers evidence, then raises FAILURE. Raises it at once if evidence is not
 * wanted. */
void standing_fail(struct master *m);

/* The first rank has failed, and the others still run for a moment: has all hosts gather what takes
 * no time. Nothing waits for it; places of ranks that come before the verdict stand in it. */
void standing_crashed(struct master *m);

/* Something else has found what stands still (ras_child.h): says so, and gathers evidence. */
void standing_found(struct master *m, const struct stuck_finding *f);
/* What was found so has lasted for STILL ns: ends the job where the user has set a limit. */
void standing_lasts(struct master *m, int64_t still);
/* What was found no longer holds. */
void standing_goes_on(struct master *m);

/* Handles the answer of a host. */
void standing_gathered(struct member *b, const json_t *message);

#endif
