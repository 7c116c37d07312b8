/* The `ringmaster ras ADDRESS` command: asks NCCL RAS every few seconds, as a child of the first
 * host's supervisor, and prints a JSON object per line about the collective operation that is
 * stuck: communicator, operation, size, came, count, seconds, late: [[rank, pid, host], ...]; or
 * an empty object once it continues. */
#ifndef ENTRYPOINT_EVIDENCE_RAS_RUN_H
#define ENTRYPOINT_EVIDENCE_RAS_RUN_H

#include "common/error.h"
#include "entrypoint/evidence/ras_watch.h"

#include <stdio.h>

/* Runs the command until standard output is closed or it is ended. WORDS are its arguments. */
int ras_run(const char *const *words, struct error *err);

/* Asks once, and prints what follows from the answer. *REPORTED: an operation was reported as
 * stuck. */
int ras_run_once(struct ras_watch *w, const char *address, bool *reported, FILE *out,
                 struct error *err);

#endif
