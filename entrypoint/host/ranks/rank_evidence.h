/* What the kernel and a shim say about the end of a rank, as evidence of its report. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_EVIDENCE_H
#define ENTRYPOINT_HOST_RANKS_RANK_EVIDENCE_H

#include "entrypoint/host/monitor/kmsg.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/outcome/traceback.h"

/* Takes the exception that a rank has printed as R's evidence, from standard error rather than from
 * standard output, if its shim has sent none and nobody else has ended it. */
void rank_evidence_printed(const struct traceback *error_out, const struct traceback *out,
                           struct rank_report *r);

/* Puts what the kernel has logged since the attempt began before the exception, if a shim sent one
 * as R's evidence, and the place of the core file behind both. */
void rank_evidence_add(struct kmsg *kernel, struct rank_report *r);

#endif
