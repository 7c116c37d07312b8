/* What the job leaves is uploaded by each host (provision/output_upload.h) before the verdict is
 * told, as it hangs on that. Raises UPLOADED and UPLOAD_DEADLINE. */
#ifndef ENTRYPOINT_MASTER_UPLOADS_H
#define ENTRYPOINT_MASTER_UPLOADS_H

#include "entrypoint/master/state.h"

/* Whether this job's hosts upload. */
bool uploads_wanted(const struct master *m);

/* The time from a stop request to SIGKILL: where the job uploads, a quarter of the stop's is left
 * for that. */
int64_t uploads_stop_budget(const struct master *m);

void uploads_init(struct master *m);
void uploads_begin(struct master *m);
void uploads_close(struct master *m);
void uploads_told(struct member *b, const json_t *message);
void uploads_lost(struct member *b, const char *why);
/* A stop leaves its own time, a second one none. */
void uploads_shorten(struct master *m);
void uploads_end(struct master *m);
/* A job that did well, or was stopped, has failed where something is missing; another failure
 * stays. */
void uploads_apply(struct master *m);

#endif
