/* Finding of NCCL RAS (evidence/ras_run.h) in words of the job: ranks and hosts instead of
 * addresses and process numbers.
 *
 * Hosts are asked which ranks own the processes that RAS names (`processes`, `owners`); what they
 * do not answer within a second is reported as RAS names it. */
#ifndef ENTRYPOINT_MASTER_RAS_FINDING_H
#define ENTRYPOINT_MASTER_RAS_FINDING_H

#include "entrypoint/evidence/stuck.h"
#include "entrypoint/master/state/state.h"

#include <jansson.h>
#include <stdbool.h>

/* Asks the hosts, and then tells FOUND as what stands still (standing_found()). While an earlier
 * one is asked about it does nothing. */
void ras_finding_take(struct master *m, json_t *found);
/* Handles the answer of a host. */
void ras_finding_answered(struct member *b, const json_t *message);
/* Forgets a finding that is asked about. */
void ras_finding_drop(struct master *m);

#endif
