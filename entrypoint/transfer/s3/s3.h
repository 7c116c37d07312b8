/* Requests to S3 and what speaks like it: address, region, signature. The default is AWS's own,
 * over https, one host name a bucket; AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or S3_ENDPOINT_URL name
 * another one, where the bucket stands in the path. */
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
    bool region_told;   /* by a server: it is not asked twice */
    bool renew;         /* credentials that were refused */
    bool vain;          /* that was done, and their source has no others */
    int64_t skew;       /* the server's clock less ours, s, once it mattered */
    unsigned corrected; /* how often a server has named the region or its clock */
    int64_t silence;    /* seconds without a byte that end a try; 0: as each request has it */
};

/* ENVIRONMENT has the job's AWS_* variables, which outlive it. */
int s3_open(struct s3 *s, const struct argv *environment, struct error *err);
void s3_close(struct s3 *s);

struct s3_request {
    const char *method;
    const char *bucket;
    const char *key; /* as it is, not encoded; "": the bucket itself */
    const struct percent_pair *pairs;
    size_t pair_count;
    const char *payload; /* SHA-256 of the body; NULL: there is none */
};

/* Fills RET's method, address and headers, signed; headers that are there are signed as well. */
int s3_prepare(struct s3 *s, const struct s3_request *request, struct request *ret,
               struct error *err);

/* Whether an answer that is no success has this error code. */
bool s3_says(const struct answer *answer, const char *code);

/* An exchange's `refused`: 0 where a second try will be another one, as the server named the
 * region, the clock was off or the credentials had ended. Many requests are under way at once: one
 * that was made before that is known is made anew, and nothing is learnt of it twice. */
int s3_refused(struct s3 *s, const struct answer *answer, struct error *err);

#endif
