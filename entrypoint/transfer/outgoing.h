/* What one start of the transfer program uploads, from the job's start to its end: its order, and
 * the life of it. An order is
 *
 *   {"environment": ["AWS_REGION=...", ...], "seconds": 3600, "uploads": [
 *      {"what": "checkpoints", "from": "/opt/ml/checkpoints", "to": "s3://...", "live": true},
 *      {"what": "model", "from": "/opt/ml/model", "to": "s3://.../model/"},
 *      {"what": "failure", "from": "/opt/ml/output", "only": "failure", "to": "s3://.../"}]}
 *
 * What is "live" is uploaded while the job runs: a file when it is complete. SIGUSR1 says that the
 * job's programs have ended: then all is uploaded, within "seconds". SIGUSR2 says that there is no
 * time left: what is under way is given up, on the server, too. Of a failure before that a warning
 * tells, and it is tried again. */
#ifndef TRANSFER_OUTGOING_H
#define TRANSFER_OUTGOING_H

#include "common/json.h"
#include "entrypoint/transfer/s3/s3.h"
#include "entrypoint/transfer/upload/upload.h"

enum { OUTGOING_MAX = 8 };

struct outgoing {
    struct s3 s3;
    int64_t seconds; /* for the last round */
    struct upload uploads[OUTGOING_MAX];
    bool live[OUTGOING_MAX];
    size_t count;
};

void outgoing_done(struct outgoing *o);
/* UPLOADS is the order's member of that name, ENVIRONMENT its AWS_* variables; both outlive it. */
int outgoing_parse(const json_t *uploads, const struct argv *environment, int64_t seconds,
                   struct outgoing *ret, struct error *err);

/* To be called once, at the start: from then on the two signals are heard, also those that came
 * before while they were blocked, as whoever starts this has them. */
int outgoing_listen(struct error *err);

/* Returns when all is uploaded after SIGUSR1, or cannot be. */
int outgoing_run(struct outgoing *o, void (*say)(const char *line), struct error *err);

#endif
