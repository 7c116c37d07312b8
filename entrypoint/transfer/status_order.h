/* Order to report a TrainJob's status to Kubeflow Trainer.
 *
 * It is the member "status" of an order (download_order.h):
 *
 *   {"url": "https://...", "certificates": FILE, "token": FILE, "body": TEXT}
 *
 * Kubeflow Trainer 2.2 (feature gate TrainJobStatus) takes it by POST, with the pod's token, which
 * is renewed: it is read anew for each report. */
#ifndef ENTRYPOINT_TRANSFER_STATUS_ORDER_H
#define ENTRYPOINT_TRANSFER_STATUS_ORDER_H

#include "common/error.h"
#include "common/json/json.h"

#include <stdint.h>

enum { STATUS_ORDER_BODY_MAX = 16 * 1024, STATUS_ORDER_TOKEN_MAX = 16 * 1024 };

/* Borrowed from the order. */
struct status_order {
    const char *url;
    const char *certificates; /* of the authority that vouches for the server */
    const char *token;        /* the file of it */
    const char *body;
};

int status_order_parse(const json_t *status, struct status_order *ret, struct error *err);

/* Sends it once, within SECONDS. The token is registered with redact.h. */
int status_order_run(const struct status_order *o, int64_t seconds, struct error *err);

#endif
