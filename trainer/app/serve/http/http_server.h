/* HTTP/1.1 for a server (trainer/app/serve/server.h), as SageMaker's hosting service calls it:
 *
 *     GET /ping                   200 while the server can answer, else 500 or 503
 *     POST /invocations           predictions (request/request_form.h)
 *     GET /execution-parameters   what batch transform may send
 *     GET /metrics                counters for Prometheus
 *
 * Connections are limited in number, in the bytes of headers and bodies, and in time. Only this
 * room knows libmicrohttpd. Source: the SageMaker developer guide, "Use your own inference code
 * with hosting services" and "... with batch transform". */
#ifndef TRAINER_APP_SERVE_HTTP_HTTP_SERVER_H
#define TRAINER_APP_SERVE_HTTP_HTTP_SERVER_H

#include "common/error.h"
#include "trainer/app/serve/server.h"

#include <stdbool.h>
#include <stdint.h>

struct http_options {
    const char *address; /* IPv4 or IPv6, borrowed */
    uint16_t port;
    int threads;     /* that read requests and decode pictures */
    int connections; /* at most */
    int64_t idle;    /* nanoseconds that a connection may be without a request */
    int64_t receive; /* nanoseconds that a request may take to arrive, and an answer to be taken */
    bool log;        /* a line for each request for predictions */
};

struct http_server;

/* Listens and answers, on threads of its own, until the stop. STOP is a descriptor that is readable
 * once a stop is wanted. A port that is taken is EXIT_CODE_CONFIG. */
int http_server_start(struct http_server **ret, struct server *server,
                      const struct http_options *options, int stop, struct error *err);
/* After server_compute has returned; NULL is fine. */
void http_server_done(struct http_server *http);

/* Returns the library and its version; NULL: this build cannot serve, and http_server_start fails
 * with EXIT_CODE_CONFIG. */
const char *http_server_library(void);

#endif
