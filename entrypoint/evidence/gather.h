/* The `ringmaster gather ORDER` command: gathers evidence of this host's ranks by the table
 * (gather_table.h), as a child of its supervisor.
 *
 * ORDER is a descriptor of sealed memory (gather_order.h). Rows run beside each other, each in a
 * process with a deadline. Findings go to stdout, one JSON object per line: one for each rank
 * (rank, collective, place, pids) as soon as all ranks are read, even if a driver hangs; and at the
 * end what was written (files, bytes, milliseconds, late). */
#ifndef ENTRYPOINT_EVIDENCE_GATHER_H
#define ENTRYPOINT_EVIDENCE_GATHER_H

#include "common/error.h"
#include "entrypoint/evidence/gather_order.h"

#include <stdio.h>

/* Runs the command. WORDS are its arguments. */
int gather_run(const char *const *words, struct error *err);

/* Does what ORDER says and prints the findings to OUT. */
int gather_all(const struct gather_order *order, FILE *out, struct error *err);

#endif
