/* One request over HTTP and its answer, tried again by the rules of retry.h. What is asked is made
 * anew for each try, as signatures age and a file goes on where it was cut off. Many run at once in
 * a pool (pool.h). */
#ifndef ENTRYPOINT_TRANSFER_HTTP_EXCHANGE_H
#define ENTRYPOINT_TRANSFER_HTTP_EXCHANGE_H

#include "common/argv.h"
#include "common/buf.h"
#include "common/error.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    EXCHANGE_URL_MAX = 16 * 1024,
    EXCHANGE_WORDS_MAX = 64 * 1024, /* of an answer that is no success */
    EXCHANGE_FIELD_MAX = 256,
    EXCHANGE_REDIRECTS_MAX = 5,
};

/* What one try sends. */
struct request {
    const char *method;
    struct buf url;
    struct argv headers; /* lines "name: value" */
    /* A body: SIZE bytes at BODY, or of the file FD from OFFSET on. */
    const char *body;
    int fd;
    off_t offset;
    int64_t size; /* below 0: no body */
    bool may_redirect;
    const unsigned char *key; /* of TLS, TLS_KEY_SIZE bytes, in place of certificates; or NULL */
    unsigned mark;            /* whoever makes it finds it in its answer */
};

/* What has come of an answer. Fields that are not there are "". */
struct answer {
    long status;
    unsigned mark;                       /* the request's */
    int64_t length;                      /* of the body as announced; -1: not */
    int64_t range_begin;                 /* of a part (206); -1: none */
    int64_t range_total;                 /* of the whole that it is a part of; -1: not said */
    int64_t retry_after;                 /* seconds; -1: not asked */
    char etag[EXCHANGE_FIELD_MAX];       /* without quotes */
    char sha256[EXCHANGE_FIELD_MAX];     /* x-amz-checksum-sha256, base64 */
    char encryption[EXCHANGE_FIELD_MAX]; /* x-amz-server-side-encryption */
    char region[EXCHANGE_FIELD_MAX];     /* x-amz-bucket-region */
    char date[EXCHANGE_FIELD_MAX];
    struct buf words; /* the body of one that is no success */
};

struct exchange_events {
    /* Makes the next try's request; RET is empty. */
    int (*prepare)(void *context, struct request *ret, struct error *err);
    /* A success has begun: before its first byte, and before `done` where there is none. May be
     * NULL. */
    int (*begins)(void *context, const struct answer *answer, struct error *err);
    int (*bytes)(void *context, const char *bytes, size_t size, struct error *err);
    /* All of a success is here; an error with os_errno EAGAIN has it tried again. May be NULL. */
    int (*complete)(void *context, const struct answer *answer, struct error *err);
    /* Another status than a success, which the rules would not try again: 0 where it is to be. May
     * be NULL. */
    int (*refused)(void *context, const struct answer *answer, struct error *err);
    /* Over, for good; FAILURE is NULL after a success. The exchange may go away. */
    void (*ended)(void *context, const struct error *failure);
};

/* Owned by the caller, in place until `ended`. Fill name, events, context; the rest is the pool's.
 */
struct exchange {
    const char *name; /* for people, without secrets: s3://bucket/key */
    const struct exchange_events *events;
    void *context;
    struct error last; /* of the last try that failed; code 0: none did */
    unsigned tries;    /* since it last got on; 0: RETRY_TRIES */
    int64_t silence;   /* seconds without a byte that end a try; 0: a default */
    /* How many bytes are here that no other try has to bring again, as the owner says, who never
     * takes any back: a try that adds many has got on, and counting begins anew. */
    int64_t furthest;
    /* private */
    CURL *easy;
    struct curl_slist *lines;
    struct request request;
    struct answer answer;
    struct error fault; /* of a callback of ours; code 0: none */
    int64_t moved;      /* bytes of this try */
    unsigned tried;
    int64_t reached; /* FURTHEST, before this try */
    int64_t again;   /* when, by clock_now() */
    size_t headers_size;
    bool begun;
    char detail[CURL_ERROR_SIZE];
    struct exchange *next;
};

#define EXCHANGE_AGAIN EAGAIN

void request_done(struct request *r);

/* For `complete`: it came whole but is not what it should be. */
int exchange_fail_again(struct error *err, const char *why);

/* For `refused`: the other side is there and says that it takes its time: no try is counted. */
void exchange_got_on(struct exchange *e);

/* Readies e->easy for the next try. */
int exchange_start(struct exchange *e, const char *certificates, struct error *err);
/* What CODE makes of the try: 1 it is to be tried again at e->again, 0 it is over, with success or
 * with *RET's error. */
enum exchange_end { EXCHANGE_DONE, EXCHANGE_ONCE_MORE, EXCHANGE_FAILED };
enum exchange_end exchange_finish(struct exchange *e, CURLcode code, struct error *ret);
/* Frees what the pool has made for it. */
void exchange_done(struct exchange *e);

#endif
