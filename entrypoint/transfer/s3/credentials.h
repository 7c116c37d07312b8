/* Where the keys for S3 come from, in the SDKs' order: the environment, the container's endpoint
 * (SageMaker, ECS, EKS pod identity), the instance's metadata (version 2 alone). Temporary ones are
 * fetched anew five minutes before they end. Values go to no log: each is registered with redact.h
 * as soon as it is known. */
#ifndef ENTRYPOINT_TRANSFER_S3_CREDENTIALS_H
#define ENTRYPOINT_TRANSFER_S3_CREDENTIALS_H

#include "entrypoint/transfer/s3/sigv4.h"

#include <stdbool.h>

enum { CREDENTIALS_EARLY_SECONDS = 300 };

struct credential_source {
    const struct argv *environment; /* the job's AWS_* variables; outlives it */
    struct credentials current;
    unsigned serial; /* another one for each that was another than the one before */
    bool have;
};

void credentials_done(struct credential_source *s);

/* The current ones. NOW is in seconds since 1970. Whoever has been refused asks with RENEW. */
int credentials_get(struct credential_source *s, int64_t now, bool renew,
                    const struct credentials **ret, struct error *err);

/* The answer of the container's endpoint or the instance's metadata. */
int credentials_parse(const char *text, size_t size, struct credentials *ret, struct error *err);

/* Whether credentials may be asked for at this address: https, or http to this machine or to the
 * platform's own addresses. */
bool credentials_may_ask(const char *url);

#endif
