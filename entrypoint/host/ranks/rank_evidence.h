/* Evidence of a rank's end, from kernel, shim and output. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_EVIDENCE_H
#define ENTRYPOINT_HOST_RANKS_RANK_EVIDENCE_H

#include "entrypoint/host/monitor/kmsg.h"
#include "entrypoint/host/ranks/rank_exception.h"
#include "entrypoint/outcome/rank_report.h"

/* Takes the exception that a rank has printed as R's evidence, if its shim has sent none and
 * nothing else has ended the rank, and when that was. */
void rank_evidence_printed(const struct rank_exception *e, struct rank_report *r);

/* Puts what the kernel has logged since the attempt began before the exception, if a shim sent one
 * as R's evidence, and the place of the core file behind both. */
void rank_evidence_add(struct kmsg *kernel, struct rank_report *r);

/* Adds that the program's standard error was closed, or led elsewhere, at CLOSED (0: it was not),
 * long before NOW, unless R's evidence has an exception. */
void rank_evidence_closed(int64_t closed, int64_t now, struct rank_report *r);

#endif
