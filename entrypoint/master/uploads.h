/* Uploads of the job's output by its hosts (host/provision/output_upload.h).
 *
 * They happen before the verdict is sent, as it depends on them. Raises UPLOADED and
 * UPLOAD_DEADLINE. */
#ifndef ENTRYPOINT_MASTER_UPLOADS_H
#define ENTRYPOINT_MASTER_UPLOADS_H

#include "entrypoint/master/state/state.h"

/* Returns true if the hosts of this job upload. */
bool uploads_wanted(const struct master *m);

/* Returns the time from a stop request to SIGKILL. If the job uploads, a quarter of it is left for
 * that. */
int64_t uploads_stop_budget(const struct master *m);

void uploads_init(struct master *m);
void uploads_begin(struct master *m);
void uploads_close(struct master *m);
void uploads_receive(struct member *b, const json_t *message);
void uploads_lost(struct member *b, const char *why);
/* Shortens the uploads after a stop to the rest of its time, after a second one to nothing. */
void uploads_shorten(struct master *m);
void uploads_end(struct master *m);
/* Applies failed uploads to the verdict: success or a stop becomes a failure; another failure
 * stays. */
void uploads_apply(struct master *m);

#endif
