/* Credentials for S3, in the SDKs' order: the environment, the container's endpoint (SageMaker,
 * ECS, EKS pod identity), the instance's metadata (version 2 only).
 *
 * Temporary ones are renewed five minutes before they expire. Values are never logged: each is
 * registered with redact.h as soon as it is known. */
#ifndef ENTRYPOINT_TRANSFER_S3_CREDENTIALS_H
#define ENTRYPOINT_TRANSFER_S3_CREDENTIALS_H

#include "entrypoint/transfer/s3/sigv4.h"

#include <stdbool.h>

enum { CREDENTIALS_EARLY_SECONDS = 300 };

struct credential_source {
    const struct argv *environment; /* the job's AWS_* variables; outlives it */
    struct credentials current;
    unsigned serial; /* changes with each new value */
    bool have;
};

void credentials_done(struct credential_source *s);

/* Returns the current ones. NOW is in seconds since 1970. RENEW: they have been refused. */
int credentials_get(struct credential_source *s, int64_t now, bool renew,
                    const struct credentials **ret, struct error *err);

/* Parses the answer of the container's endpoint or the instance's metadata. */
int credentials_parse(const char *text, size_t size, struct credentials *ret, struct error *err);

/* Returns true if credentials may be requested from this address: https, or http to this machine or
 * to the platform's own addresses. */
bool credentials_may_ask(const char *url);

#endif
