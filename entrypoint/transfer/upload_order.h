/* Order to upload a job's results, live and at its end. It is
 *
 *   {"environment": ["AWS_REGION=...", ...], "seconds": 3600, "uploads": [
 *      {"what": "checkpoints", "from": "/opt/ml/checkpoints", "to": "s3://...", "live": true},
 *      {"what": "model", "from": "/opt/ml/model", "to": "s3://.../model/"},
 *      {"what": "failure", "from": "/opt/ml/output", "only": "failure", "to": "s3://.../"}]}
 *
 * What is "live" is uploaded while the job runs: a file when it is complete. SIGUSR1 says that the
 * job's programs have ended: then all is uploaded, within "seconds". SIGUSR2 says that there is no
 * time left: what is under way is given up, on the server, too. A failure before that causes a
 * warning, and the upload is tried again. */
#ifndef ENTRYPOINT_TRANSFER_UPLOAD_ORDER_H
#define ENTRYPOINT_TRANSFER_UPLOAD_ORDER_H

#include "common/json/json.h"
#include "entrypoint/transfer/s3/s3.h"
#include "entrypoint/transfer/upload/upload.h"

enum { UPLOAD_ORDER_MAX = 8 };

struct upload_order {
    struct s3 s3;
    int64_t seconds; /* for the last round */
    struct upload uploads[UPLOAD_ORDER_MAX];
    bool live[UPLOAD_ORDER_MAX];
    size_t count;
};

void upload_order_done(struct upload_order *o);
/* UPLOADS is the order's member of that name, ENVIRONMENT its AWS_* variables; both outlive it. */
int upload_order_parse(const json_t *uploads, const struct argv *environment, int64_t seconds,
                       struct upload_order *ret, struct error *err);

/* Call it once, at the start: from then on the two signals are handled, also those that came before
 * while they were blocked, as they are at the start of this program. */
int upload_order_listen(struct error *err);

/* Returns when everything is uploaded after SIGUSR1, or cannot be. */
int upload_order_run(struct upload_order *o, void (*say)(const char *line), struct error *err);

#endif
