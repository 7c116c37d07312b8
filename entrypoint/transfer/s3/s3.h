/* Requests to S3 and compatible servers: address, region, signature.
 *
 * The default is AWS over https, with one host name per bucket; AWS_ENDPOINT_URL_S3,
 * AWS_ENDPOINT_URL or S3_ENDPOINT_URL name another server, where the bucket is part of the path. */
#ifndef ENTRYPOINT_TRANSFER_S3_S3_H
#define ENTRYPOINT_TRANSFER_S3_S3_H

#include "entrypoint/transfer/http/exchange.h"
#include "entrypoint/transfer/http/percent.h"
#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/s3/credentials.h"

enum { S3_REGION_MAX = 64, S3_PLACE_MAX = 1024 };

struct s3 {
    struct credential_source credentials;
    const char *endpoint;     /* borrowed; NULL: AWS's own */
    const char *certificates; /* AWS_CA_BUNDLE, borrowed; or NULL */
    char region[S3_REGION_MAX];
    bool region_given;  /* by a server: not asked again */
    bool renew;         /* credentials were refused */
    bool vain;          /* they were renewed, but their source has no others */
    int64_t skew;       /* the server's clock minus ours, s, once it mattered */
    unsigned corrected; /* how often a server has corrected region or clock */
    int64_t silence;    /* seconds without a byte that end a try; 0: as each request says */
};

/* Opens it. ENVIRONMENT has the job's AWS_* variables, which outlive it. */
int s3_open(struct s3 *s, const struct argv *environment, struct error *err);
void s3_close(struct s3 *s);

struct s3_request {
    const char *method;
    const char *bucket;
    const char *key; /* not encoded; "": the bucket itself */
    const struct percent_pair *pairs;
    size_t pair_count;
    const char *payload; /* SHA-256 of the body; NULL: there is none */
};

/* Fills in RET's method, address and headers, signed; headers that are there are signed as well. */
int s3_prepare(struct s3 *s, const struct s3_request *request, struct request *ret,
               struct error *err);

/* Returns true if an unsuccessful answer has this error code. */
bool s3_says(const struct answer *answer, const char *code);

/* Implements an exchange's `refused`: returns 0 if another try will differ, as the server named the
 * region, the clock was off or the credentials had expired. Many requests run at once: one that was
 * made before that is known is made anew, and the correction is learned only once. */
int s3_refused(struct s3 *s, const struct answer *answer, struct error *err);

#endif
