/* Signed request to S3 and its complete answer. The call waits for the answer, with the repetitions
 * of exchange.h. */
#ifndef ENTRYPOINT_TRANSFER_S3_S3_CALL_H
#define ENTRYPOINT_TRANSFER_S3_S3_CALL_H

#include "entrypoint/transfer/http/exchange_pool.h"
#include "entrypoint/transfer/s3/s3.h"

enum { S3_CALL_ANSWER_MAX = 4 * 1024 * 1024 };

struct s3_call {
    struct s3 *s3;
    const char *method;
    const char *bucket;
    const char *key; /* "": of the bucket itself */
    const struct percent_pair *pairs;
    size_t pair_count;
    const struct buf *body;               /* NULL: none, and none is announced */
    int64_t seconds;                      /* for all of it */
    unsigned tries;                       /* 0: as usual */
    const volatile sig_atomic_t *give_up; /* not 0: everything is abandoned; may be NULL */
    bool may_be_gone;                     /* a missing upload is no error */
};

/* NAME is for messages. The answer's body is appended to RET; RET_ANSWER may be NULL. */
int s3_call(const struct s3_call *a, const char *name, struct buf *ret, struct answer *ret_answer,
            struct error *err);

#endif
