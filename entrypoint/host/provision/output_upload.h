/* Uploads of a host to the job's targets (job/upload_targets.h).
 *
 * A child (transfer_process.h) that lives as long as the job uploads checkpoints while it runs, and
 * everything else when its programs have ended. A child that dies early is restarted then. */
#ifndef ENTRYPOINT_HOST_PROVISION_OUTPUT_UPLOAD_H
#define ENTRYPOINT_HOST_PROVISION_OUTPUT_UPLOAD_H

#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/process_tree.h"
#include "entrypoint/os/subprocess.h"

#include <jansson.h>

struct output_upload {
    const struct services *services;
    /* An output line of the child, with prefix and line end. */
    void (*line)(void *context, const char *line, size_t size);
    void *line_context;
    struct subprocess task;
    struct timer abandon; /* then uploads under way are abandoned */
    struct timer kill;
    bool open;
    bool finishing;
    void (*done)(void *context, const struct error *failure);
    void *context;
};

/* The process tree of SERVICES spares the child. */
int output_upload_open(struct output_upload *u, const struct services *services,
                       void (*line)(void *context, const char *line, size_t size), void *context,
                       struct error *err);
void output_upload_close(struct output_upload *u);

/* The job's programs have ended: uploads everything within SECONDS, then calls DONE from the loop.
 */
void output_upload_finish(struct output_upload *u, int64_t seconds,
                          void (*done)(void *context, const struct error *failure), void *context);
/* Limits the remaining time to SECONDS; 0: none. */
void output_upload_set_deadline(struct output_upload *u, int64_t seconds);
/* Stops waiting for it. */
void output_upload_drop(struct output_upload *u);

/* Returns the order as JSON (transfer/upload_order.h), owned by the caller. */
json_t *output_upload_order(const struct job *job, char *const *environment);

#endif
