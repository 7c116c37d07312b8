/* S3 server with faults, reduced to what this house asks of it. It has one bucket, misbehaves at
 * one kind of request, so often, and then is good again. */
#ifndef TESTS_UNIT_ENTRYPOINT_TRANSFER_FAULTS_STAGE_H
#define TESTS_UNIT_ENTRYPOINT_TRANSFER_FAULTS_STAGE_H

#include "common/clock.h"
#include "entrypoint/transfer/disk/digest.h"
#include "entrypoint/transfer/fetch/ranges.h"
#include "entrypoint/transfer/s3/etag.h"
#include "entrypoint/transfer/s3/s3.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum kind { LIST, HEAD, RANGE, GET, PUT, CREATE, PART, COMPLETE, ABORT, KINDS };
enum fault {
    INTERNAL_ERROR, /* 500 */
    SLOW_DOWN,      /* 503 */
    RESET,          /* the connection, in the middle of the answer */
    SILENCE,        /* no answer, until the other side has gone */
    CUT_OFF,        /* the answer, before its end */
    OTHER_LENGTH,   /* of an answer that ends as it says */
    OTHER_WORDS,    /* success, with an error in place of the answer */
    SKEWED,         /* RequestTimeTooSkewed, of a clock two hours ahead */
    EXPIRED,        /* ExpiredToken */
    TOO_MANY,       /* 429 */
    ROUND,          /* 307, to itself */
    OTHER_ETAG,     /* of the answer that is meant */
    DRIP,           /* a byte of the answer a second */
    MORE_PAGES,     /* a full page of a listing, with another one after it */
    FAULTS
};

/* What the server goes by and counts. */
enum {
    AT_KIND,
    WHICH_FAULT,
    TIMES,
    VISIBLE,
    GIVEN_UP,
    SUM_FIRST,
    SUM_LAST,
    ACCEPTED,
    PAGES = SUM_FIRST, /* where nothing is sent */
};

enum { EACH_TOKEN = 3 }; /* requests that a token is good for, where tokens end */

enum { SMALL_SIZE = 100 * 1000, UP_SIZE = 16 * 1024 * 1024 + 3, SKEW = 7200 };
#define LARGE_SIZE ((size_t)RANGES_LEAST + 3)
_Static_assert(UP_SIZE == ETAG_PART + 3, "two parts, of which the second has three bytes");

static char faults_content[(size_t)(64 << 20) + 3];
static char faults_large[DIGEST_HEX_MAX]; /* MD5 */
static char faults_small[DIGEST_HEX_MAX];
static char faults_part[2][DIGEST_HEX_MAX];
static char faults_whole[ETAG_MAX];
static bool faults_tokens; /* end */

static inline void faults_md5(const char *bytes, size_t size, unsigned char raw[DIGEST_SHA256],
                              char ret[DIGEST_HEX_MAX]) {
    struct digest d = {0};
    CU_ASSERT_EQUAL(digest_begin(&d, DIGEST_OF_MD5, NULL), 0);
    CU_ASSERT_EQUAL(digest_add(&d, bytes, size, NULL), 0);
    CU_ASSERT_EQUAL(digest_finish(&d, raw, NULL), 0);
    digest_hex(raw, DIGEST_MD5, ret);
    digest_done(&d);
}

static inline void faults_make(void) {
    unsigned char raw[2][DIGEST_SHA256];
    unsigned char ignored[DIGEST_SHA256];
    char both[2 * DIGEST_MD5];
    char hex[DIGEST_HEX_MAX];
    for (size_t i = 0; i < LARGE_SIZE; i++)
        faults_content[i] = (char)(i * 2654435761u >> 20);
    faults_md5(faults_content, LARGE_SIZE, ignored, faults_large);
    faults_md5(faults_content, SMALL_SIZE, ignored, faults_small);
    faults_md5(faults_content, ETAG_PART, raw[0], faults_part[0]);
    faults_md5(faults_content + ETAG_PART, UP_SIZE - ETAG_PART, raw[1], faults_part[1]);
    memcpy(both, raw[0], DIGEST_MD5);
    memcpy(both + DIGEST_MD5, raw[1], DIGEST_MD5);
    faults_md5(both, sizeof(both), ignored, hex);
    (void)snprintf(faults_whole, sizeof(faults_whole), "%s-2", hex);
}

/* --- good answers ----------------------------------------------------------------------------- */

struct reply {
    int status;
    char headers[512];
    char text[1024];
    const char *body; /* TEXT, or content */
    size_t size;
};

static inline enum kind faults_kind(const struct http_call *call) {
    const char *target = call->target;
    if (strcmp(call->method, "HEAD") == 0)
        return HEAD;
    if (strcmp(call->method, "DELETE") == 0)
        return ABORT;
    if (strcmp(call->method, "PUT") == 0)
        return strstr(target, "partNumber=") != NULL ? PART : PUT;
    if (strcmp(call->method, "POST") == 0)
        return strstr(target, "uploads=") != NULL ? CREATE : COMPLETE;
    if (strstr(target, "list-type=") != NULL)
        return LIST;
    if (strstr(target, "uploads=") != NULL)
        return KINDS; /* what is unfinished */
    return http_header(call, "range")[0] != '\0' ? RANGE : GET;
}

static inline void faults_say(struct reply *r, const char *text) {
    (void)snprintf(r->text, sizeof(r->text), "%s", text);
    r->body = r->text;
    r->size = strlen(r->text);
}

static inline void faults_object(struct http_call *call, struct reply *r, size_t size,
                                 const char *etag) {
    size_t first = 0;
    size_t last = size - 1;
    char *dash = NULL;
    char range[64];
    int at = snprintf(r->headers, sizeof(r->headers), "ETag: \"%s\"\r\n", etag);
    (void)snprintf(range, sizeof(range), "%.60s", http_header(call, "range"));
    if (range[0] != '\0') {
        first = (size_t)strtoull(range + strlen("bytes="), &dash, 10);
        last = dash[1] != '\0' ? (size_t)strtoull(dash + 1, NULL, 10) : last;
        r->status = 206;
        (void)snprintf(r->headers + at, sizeof(r->headers) - (size_t)at,
                       "Content-Range: bytes %zu-%zu/%zu\r\n", first, last, size);
    }
    r->body = faults_content + first;
    r->size = last - first + 1;
}

static inline void faults_take(struct http_call *call, struct reply *r) {
    bool last = strstr(call->target, "partNumber=2") != NULL;
    const char *etag =
        strstr(call->target, "partNumber=") == NULL ? faults_small : faults_part[last];
    atomic_store(&call->shared->counters[last ? SUM_LAST : SUM_FIRST], call->sum);
    if (etag == faults_small)
        atomic_fetch_add(&call->shared->counters[VISIBLE], 1);
    (void)snprintf(r->headers, sizeof(r->headers), "ETag: \"%s\"\r\n", etag);
}

static inline void faults_good(struct http_call *call, enum kind kind, struct reply *r) {
    bool large = strstr(call->target, "/large") != NULL;
    char text[512];
    *r = (struct reply){.status = 200, .body = ""};
    if (kind == LIST) {
        (void)snprintf(
            text, sizeof(text),
            "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>set/a</Key>"
            "<Size>1</Size></Contents><Contents><Key>set/b</Key><Size>2</Size></Contents>"
            "</ListBucketResult>");
        faults_say(r, text);
    } else if (kind == KINDS) {
        faults_say(r, "<ListMultipartUploadsResult></ListMultipartUploadsResult>");
    } else if (kind == CREATE) {
        faults_say(r, "<InitiateMultipartUploadResult><UploadId>id</UploadId>"
                      "</InitiateMultipartUploadResult>");
    } else if (kind == COMPLETE) {
        atomic_fetch_add(&call->shared->counters[VISIBLE], 1);
        (void)snprintf(text, sizeof(text),
                       "<CompleteMultipartUploadResult><ETag>\"%s\"</ETag>"
                       "</CompleteMultipartUploadResult>",
                       faults_whole);
        faults_say(r, text);
    } else if (kind == ABORT) {
        atomic_fetch_add(&call->shared->counters[GIVEN_UP], 1);
        r->status = 204;
    } else if (kind == PUT || kind == PART) {
        faults_take(call, r);
    } else if (strstr(call->target, "/up") != NULL) { /* whether it is there */
        faults_object(call, r, UP_SIZE, faults_whole);
        r->status = atomic_load(&call->shared->counters[VISIBLE]) > 0 ? 200 : 404;
    } else {
        faults_object(call, r, large ? LARGE_SIZE : SMALL_SIZE,
                      large ? faults_large : faults_small);
    }
}

/* --- bad ones --------------------------------------------------------------------------------- */

static inline void faults_write(struct http_call *call, const struct reply *r, size_t announced,
                                size_t size) {
    char head[1024];
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 %d Said\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n",
                          r->status, r->headers, announced);
    http_write(call, head, (size_t)length);
    if (strcmp(call->method, "HEAD") != 0)
        http_write(call, r->body, size);
}

static inline void faults_refuse(struct http_call *call, int status, const char *code) {
    char text[256];
    char date[64];
    struct reply r = {.status = status};
    time_t theirs = (time_t)(clock_wall() / CLOCK_SECOND) + SKEW;
    struct tm parts;
    (void)gmtime_r(&theirs, &parts);
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    (void)snprintf(text, sizeof(text), "<Error><Code>%s</Code></Error>", code);
    (void)snprintf(r.headers, sizeof(r.headers), "Date: %s\r\n", date);
    faults_say(&r, text);
    faults_write(call, &r, r.size, r.size);
}

static inline void faults_reset(struct http_call *call) {
    const struct linger at_once = {.l_onoff = 1};
    http_write(call, "HTTP/1.1 200 Said\r\nContent-", 27);
    (void)setsockopt(call->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)close(call->fd);
}

/* A byte a second, until the other side has gone. */
static inline void faults_drip(struct http_call *call) {
    static const char line[] = "HTTP/1.1 200 Said\r\nX-Slow: ";
    struct pollfd gone = {.fd = call->fd, .events = POLLRDHUP};
    for (size_t i = 0; poll(&gone, 1, i == 0 ? 0 : 1000) == 0; i++)
        http_write(call, i < sizeof(line) - 1 ? line + i : "x", 1);
}

static inline void faults_round(struct http_call *call) {
    struct reply r = {.status = 307};
    (void)snprintf(r.headers, sizeof(r.headers), "Location: %.400s\r\n", call->target);
    faults_say(&r, "<Error><Code>TemporaryRedirect</Code></Error>");
    faults_write(call, &r, r.size, r.size);
}

/* In a body where it is there, else in the header. */
static inline void faults_rename(struct http_call *call, struct reply *r) {
    static const char wrong[] = "00000000000000000000000000000000";
    char *etag = strstr(r->headers, "ETag: \"");
    char *told = strstr(r->text, "<ETag>\"");
    if (told != NULL)
        memcpy(told + strlen("<ETag>\""), wrong, sizeof(wrong) - 1);
    else if (etag != NULL)
        memcpy(etag + strlen("ETag: \""), wrong, sizeof(wrong) - 1);
    faults_write(call, r, r->size, r->size);
}

enum { PAGE_KEYS = 10000 };

static inline void faults_page(struct http_call *call) {
    static char text[1024 * 1024];
    struct reply r = {.status = 200, .body = text};
    int at = snprintf(text, sizeof(text),
                      "<ListBucketResult><IsTruncated>true</IsTruncated>"
                      "<NextContinuationToken>%u</NextContinuationToken>",
                      atomic_fetch_add(&call->shared->counters[PAGES], 1));
    for (int i = 0; i < PAGE_KEYS; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at,
                       "<Contents><Key>set/%c</Key><Size>0</Size></Contents>", 'c' + i % 20);
    at += snprintf(text + at, sizeof(text) - (size_t)at, "</ListBucketResult>");
    r.size = (size_t)at;
    faults_write(call, &r, r.size, r.size);
}

/* Without having done what was asked for. */
static inline void faults_misbehave(struct http_call *call, enum kind kind, enum fault fault) {
    struct http_shared before;
    struct reply r;
    memcpy(before.counters, call->shared->counters, sizeof(before.counters));
    faults_good(call, kind, &r);
    atomic_store(&call->shared->counters[VISIBLE], before.counters[VISIBLE]);
    atomic_store(&call->shared->counters[GIVEN_UP], before.counters[GIVEN_UP]);
    if (fault == INTERNAL_ERROR)
        faults_refuse(call, 500, "InternalError");
    else if (fault == SLOW_DOWN)
        faults_refuse(call, 503, "SlowDown");
    else if (fault == RESET)
        faults_reset(call);
    else if (fault == SILENCE)
        http_await_end(call);
    else if (fault == CUT_OFF && kind == HEAD)
        http_write(call, "HTTP/1.1 200 Said\r\nETa", 22);
    else if (fault == CUT_OFF)
        faults_write(call, &r, r.size > 0 ? r.size : 10, r.size / 2);
    else if (fault == OTHER_LENGTH)
        faults_write(call, &r, r.size / 2, r.size / 2);
    else if (fault == OTHER_WORDS)
        faults_refuse(call, 200, "InternalError");
    else if (fault == TOO_MANY)
        faults_refuse(call, 429, "TooManyRequests");
    else if (fault == ROUND)
        faults_round(call);
    else if (fault == OTHER_ETAG)
        faults_rename(call, &r);
    else if (fault == DRIP)
        faults_drip(call);
    else if (fault == MORE_PAGES)
        faults_page(call);
    else if (fault == SKEWED)
        faults_refuse(call, 403, "RequestTimeTooSkewed");
    else
        faults_refuse(call, 400, "ExpiredToken");
}

/* Whether the token is one that has ended; the one that is good now answers its endpoint. */
static inline bool faults_has_ended(struct http_call *call) {
    char good[32];
    unsigned accepted = atomic_load(&call->shared->counters[ACCEPTED]);
    (void)snprintf(good, sizeof(good), "token-%u", accepted / EACH_TOKEN);
    if (!faults_tokens)
        return false;
    if (strcmp(http_header(call, "x-amz-security-token"), good) != 0)
        return true;
    atomic_fetch_add(&call->shared->counters[ACCEPTED], 1);
    return false;
}

static inline void faults_credentials(struct http_call *call) {
    char text[256];
    unsigned accepted = atomic_load(&call->shared->counters[ACCEPTED]);
    (void)snprintf(text, sizeof(text),
                   "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"hush-hush\",\"Token\":"
                   "\"token-%u\",\"Expiration\":\"2099-01-01T00:00:00Z\"}",
                   accepted / EACH_TOKEN);
    http_reply_text(call, 200, text);
}

static inline void faults_answer(struct http_call *call) {
    atomic_uint *counters = call->shared->counters;
    enum kind kind = faults_kind(call);
    struct reply r;
    if (strcmp(call->target, "/credentials") == 0) {
        faults_credentials(call);
        return;
    }
    if (faults_has_ended(call)) {
        faults_refuse(call, 400, "ExpiredToken");
        return;
    }
    unsigned left = atomic_load(&counters[TIMES]);
    if (kind == atomic_load(&counters[AT_KIND]))
        while (left > 0 && !atomic_compare_exchange_weak(&counters[TIMES], &left, left - 1))
            ;
    else
        left = 0;
    if (left > 0) {
        faults_misbehave(call, kind, atomic_load(&counters[WHICH_FAULT]));
        return;
    }
    faults_good(call, kind, &r);
    faults_write(call, &r, r.size, r.size);
}

#endif
