/* HTTP request with retries (retry.h). The request is made anew for each try, as signatures expire
 * and a file resumes where it was cut off. Many run in parallel in a pool (exchange_pool.h). */
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
    EXCHANGE_WORDS_MAX = 64 * 1024, /* body of an unsuccessful answer */
    EXCHANGE_FIELD_MAX = 256,
    EXCHANGE_REDIRECTS_MAX = 5,
};

/* The request of one try. */
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
    const char *user;         /* for basic authentication; borrowed, NULL: none */
    const char *password;     /* with it; a redirect to another host gets neither */
    const unsigned char *key; /* TLS key of TLS_KEY_SIZE bytes, instead of certificates; or NULL */
    unsigned mark;            /* set by the caller and copied to the answer */
};

/* The answer so far. Missing fields are "". */
struct answer {
    long status;
    unsigned mark;                       /* the request's */
    int64_t length;                      /* of the body as announced; -1: unknown */
    int64_t range_begin;                 /* of a part (206); -1: none */
    int64_t range_total;                 /* size of the whole; -1: unknown */
    int64_t retry_after;                 /* seconds; -1: not given */
    char etag[EXCHANGE_FIELD_MAX];       /* without quotes */
    char sha256[EXCHANGE_FIELD_MAX];     /* x-amz-checksum-sha256, base64 */
    char encryption[EXCHANGE_FIELD_MAX]; /* x-amz-server-side-encryption */
    char region[EXCHANGE_FIELD_MAX];     /* x-amz-bucket-region */
    char date[EXCHANGE_FIELD_MAX];
    struct buf words; /* the body of an unsuccessful answer */
};

struct exchange_events {
    /* Prepares the next try's request; RET is empty. */
    int (*prepare)(void *context, struct request *ret, struct error *err);
    /* A successful answer begins: before its first byte, and before `complete` if it is empty. May
     * be NULL. */
    int (*begins)(void *context, const struct answer *answer, struct error *err);
    int (*bytes)(void *context, const char *bytes, size_t size, struct error *err);
    /* A successful answer is complete; an error with os_errno EAGAIN makes it try again. May be
     * NULL. */
    int (*complete)(void *context, const struct answer *answer, struct error *err);
    /* An unsuccessful status that the rules would not retry; returns 0 to retry it. May be NULL. */
    int (*refused)(void *context, const struct answer *answer, struct error *err);
    /* The end; FAILURE is NULL after success. The exchange may be freed. */
    void (*ended)(void *context, const struct error *failure);
};

/* Owned by the caller; must stay in place until `ended`. Fill in name, events and context; the rest
 * is the pool's. */
struct exchange {
    const char *name; /* for people, without secrets: s3://bucket/key */
    const struct exchange_events *events;
    void *context;
    struct error last; /* of the last failed try; code 0: none */
    unsigned tries;    /* since the last progress; 0: RETRY_TRIES */
    int64_t silence;   /* seconds without a byte that end a try; 0: default */
    /* Bytes that no other try has to transfer again, as the owner says, which never reduces it: a
     * try that adds many counts as progress, and counting starts again. */
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

/* For `complete`: the answer is complete but not what it should be. */
int exchange_fail_again(struct error *err, const char *why);

/* For `refused`: the server answers but needs time: the try does not count. */
void exchange_got_on(struct exchange *e);

/* Readies e->easy for the next try. */
int exchange_start(struct exchange *e, const char *certificates, struct error *err);
/* Evaluates CODE: EXCHANGE_ONCE_MORE to retry at e->again, else the end, with success or with
 * *RET's error. */
enum exchange_end { EXCHANGE_DONE, EXCHANGE_ONCE_MORE, EXCHANGE_FAILED };
enum exchange_end exchange_finish(struct exchange *e, CURLcode code, struct error *ret);
/* Frees what the pool has allocated for it. */
void exchange_done(struct exchange *e);

#endif
