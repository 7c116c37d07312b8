/* Upload targets of a job's checkpoints and output.
 *
 * They are for platforms that do not upload by themselves. Below RINGMASTER_OUTPUT lie
 *
 *   model/                BASE/model of the first host
 *   output/HOST/model/    what lies there on another host
 *   output/HOST/data/     BASE/output/data of each host
 *   output/HOST/failure   its failure file
 *
 * and RINGMASTER_CHECKPOINTS is BASE/checkpoints of all hosts. A folder of the host that is named
 * so (file://) becomes that folder, by a link. Where the platform's hosts are several jobs each has
 * the folder FIRST/ there in place of both, by the name of its first host. */
#ifndef ENTRYPOINT_JOB_UPLOAD_TARGETS_H
#define ENTRYPOINT_JOB_UPLOAD_TARGETS_H

#include "common/error.h"
#include "entrypoint/job/settings.h"

#include <stdbool.h>

enum { UPLOAD_TARGETS_TEXT_MAX = 1024 };

static inline bool upload_targets_any(const struct settings *s) {
    return s->checkpoints != NULL || s->output != NULL;
}

/* Returns true if there is something to upload, and not only to link. */
bool upload_targets_upload(const struct settings *s);

/* Checks the form of both targets. */
int upload_targets_check(const struct settings *s, struct error *err);

#endif
