/* A small HTTP server for tests, on the loopback interface: one process for each connection, with
 * answers from a function of the test's own, so that it can misbehave in any way. Its counters are
 * shared with the test. */
#ifndef TESTS_SUPPORT_HTTP_SERVER_H
#define TESTS_SUPPORT_HTTP_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { HTTP_COUNTERS = 8, HTTP_TEXT_MAX = 64 * 1024, HTTP_KEPT_MAX = 64 };

#define HTTP_SUM 2166136261u

struct http_shared {
    atomic_uint requests;
    atomic_uint counters[HTTP_COUNTERS]; /* the test's own */
    char targets[HTTP_KEPT_MAX][512];    /* of the first requests: "METHOD target" */
};

struct http_call {
    int fd;
    unsigned number; /* of the request, from 0 on */
    char method[16];
    char target[2048];
    char headers[HTTP_TEXT_MAX]; /* lines as they came, each with its CR LF */
    char body[HTTP_TEXT_MAX];
    size_t size;  /* of the body */
    unsigned sum; /* of all its bytes, also those that BODY has no room for (http_sum) */
    struct http_shared *shared;
};

struct http_server {
    pid_t pid;
    unsigned port;
    int counted; /* an eventfd that requests are added to */
    struct http_shared *shared;
};

/* ANSWER writes a whole answer, or whatever it likes; the connection is closed afterwards. */
void http_server_start(struct http_server *s, void (*answer)(struct http_call *call));
void http_server_stop(struct http_server *s);

/* Whether as many requests have come in all. Each is waited for as long as that. */
bool http_await_requests(const struct http_server *s, unsigned count, int milliseconds);

/* Status line, HEADERS (lines with CR LF, "" for none), content-length and body. */
void http_reply(struct http_call *call, int status, const char *headers, const char *body,
                size_t size);
void http_reply_text(struct http_call *call, int status, const char *body);
void http_write(struct http_call *call, const char *bytes, size_t size);
/* Says nothing until the other side has gone. */
void http_await_end(struct http_call *call);
/* FNV-1a of SIZE bytes appended to those that SUM was computed from; the first SUM is HTTP_SUM. */
unsigned http_sum(unsigned sum, const char *bytes, size_t size);
/* The value of a request's header; "" if absent. Valid until the next call. */
const char *http_header(const struct http_call *call, const char *name);

#endif
