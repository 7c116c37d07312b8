#include "trainer/app/serve/http/http_server.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "trainer/app/serve/http/connections.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* libmicrohttpd calls `handle` for one request several times: first with its headers (begin), then
 * for each part of its body (receive), then with an empty part, when the answer is due. For
 * predictions the connection is suspended at that point, and resumed by `answered` from the
 * computing thread; `handle` is then called once more and sends. `end` follows each request,
 * whether it was answered or its connection broke.
 *
 * Memory and time are bounded by the server's limits, and not by the library's: its timeout counts
 * only silence, so a client that sends a byte now and then could hold a connection for ever. Each
 * connection has a deadline instead, which connections.c enforces by shutting the socket down; the
 * library then notices the end by itself. */

enum {
    HEADERS_MAX = 32 * 1024, /* of a request, and of the rest that a connection keeps */
    /* Bytes of an answer at most; a larger one becomes an error (send_answer). */
    ANSWER_MAX = 256 * 1024 * 1024,
    BACKLOG = 1024,
    /* Five digits and a NUL, with room to spare. */
    PORT_TEXT = 8,
    RETRY_SECONDS = 1, /* Retry-After */
};

enum route { ROUTE_NONE, ROUTE_PING, ROUTE_PREDICT, ROUTE_PARAMETERS, ROUTE_METRICS };

/* The paths that SageMaker calls, and /metrics. A path is compared as a whole: queries are cut off
 * by the library. */
static const struct route_row {
    const char *path, *method;
    enum route route;
} ROUTES[] = {
    {"/ping", "GET", ROUTE_PING},
    {"/invocations", "POST", ROUTE_PREDICT},
    {"/execution-parameters", "GET", ROUTE_PARAMETERS},
    {"/metrics", "GET", ROUTE_METRICS},
};

enum { ROUTE_COUNT = sizeof(ROUTES) / sizeof(ROUTES[0]) };

struct http_server {
    struct server *server;
    struct http_options options;
    struct MHD_Daemon *daemon;
    struct connections connections;
};

/* One request. */
struct http_request {
    struct http_server *http;
    struct MHD_Connection *connection;
    struct connection_deadline *deadline; /* of its connection */
    enum route route;
    bool predicts; /* server_begin was called */
    bool waits;    /* its pictures are queued, or were */
    size_t received;
    struct server_request request;
};

/* --- time ------------------------------------------------------------------------------------- */

/* Gives a connection so many nanoseconds from now. */
static void allow(struct http_request *x, int64_t time) {
    connections_allow(&x->http->connections, x->deadline, clock_now() + time);
}

/* Returns the time that a connection has between two requests: it may be idle, and then begin
 * one. */
static int64_t time_between(const struct http_server *http) {
    return http->options.idle + http->options.receive;
}

/* Callback of the library for each connection that opens or closes. *SLOT is the connection's own,
 * and is where `begin` finds its deadline. */
static void watch_connection(void *user, struct MHD_Connection *connection, void **slot,
                             enum MHD_ConnectionNotificationCode what) {
    struct http_server *http = user;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *slot = info == NULL ? NULL
                             : connections_add(&http->connections, info->connect_fd,
                                               clock_now() + time_between(http));
        server_connections(http->server, 1);
        return;
    }
    /* The library closes the descriptor after this. */
    connections_remove(&http->connections, *slot);
    *slot = NULL;
    server_connections(http->server, -1);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Queues an answer; TEXT is consumed in any case, as the library frees it with free(). A stop
 * closes each connection with its next answer, so that clients go elsewhere. From here on the
 * client has a limited time to take the answer. */
static enum MHD_Result send_text(struct http_request *x, unsigned status, const char *type,
                                 struct buf *text) {
    struct http_server *http = x->http;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(text->size, text->data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        buf_done(text);
        return MHD_NO;
    }
    *text = (struct buf){0};
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == SERVER_BUSY) {
        char seconds[16];
        (void)snprintf(seconds, sizeof(seconds), "%d", RETRY_SECONDS);
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    if (status == SERVER_NOT_ALLOWED)
        for (int i = 0; i < ROUTE_COUNT; i++)
            if (ROUTES[i].route == x->route)
                (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, ROUTES[i].method);
    if (server_is_stopping(http->server))
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    allow(x, http->options.receive);
    const enum MHD_Result result = MHD_queue_response(x->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* Sends the predictions, or the error that the request's status is. */
static enum MHD_Result send_answer(struct http_request *x) {
    struct buf text;
    buf_init(&text, ANSWER_MAX);
    if (server_answer(&x->request, &text, NULL) != 0) {
        /* Part of an answer must not be sent: the error takes its place, in the buffer that is
         * there. */
        text.size = 0;
        (void)server_refuse(&x->request, SERVER_FAILED, "the answer does not fit into memory");
        if (server_answer(&x->request, &text, NULL) != 0) {
            buf_done(&text);
            return MHD_NO;
        }
    }
    return send_text(x, x->request.status, "application/json", &text);
}

/* A broken network is 500, after which the platform replaces the container; a stop is 503, so that
 * nothing more is sent here. */
static enum MHD_Result send_ping(struct http_request *x) {
    struct server *server = x->http->server;
    if (!server_is_healthy(server))
        (void)server_refuse(&x->request, SERVER_FAILED, "the network cannot compute any more");
    else if (server_is_stopping(server))
        (void)server_refuse(&x->request, SERVER_BUSY, "the server is stopping");
    if (x->request.status != SERVER_OK)
        return send_answer(x);
    struct buf text;
    buf_init(&text, ANSWER_MAX);
    return buf_add_text(&text, "{\"status\": \"healthy\"}\n", NULL) != 0
               ? MHD_NO
               : send_text(x, SERVER_OK, "application/json", &text);
}

/* Batch transform sends a picture a request, and as many at once as fill the largest batch. */
static enum MHD_Result send_parameters(struct http_request *x) {
    const struct server_options *o = &x->http->server->options;
    struct buf text;
    buf_init(&text, ANSWER_MAX);
    return buf_printf(&text, NULL,
                      "{\"MaxConcurrentTransforms\": %d, \"BatchStrategy\": \"SINGLE_RECORD\", "
                      "\"MaxPayloadInMB\": %zu}\n",
                      o->queue.sizes[o->queue.size_count - 1], o->body_max >> 20) != 0
               ? MHD_NO
               : send_text(x, SERVER_OK, "application/json", &text);
}

/* The type names the version of Prometheus's text format. */
static enum MHD_Result send_metrics(struct http_request *x) {
    struct buf text;
    buf_init(&text, ANSWER_MAX);
    if (server_print_metrics(x->http->server, &text, NULL) != 0) {
        buf_done(&text);
        return MHD_NO;
    }
    return send_text(x, SERVER_OK, "text/plain; version=0.0.4", &text);
}

/* --- requests --------------------------------------------------------------------------------- */

static const char *header(struct http_request *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

struct lengths {
    int count;
    bool chunked;
};

/* Callback for each header of a request. Names of headers do not depend on case. */
static enum MHD_Result count_lengths(void *user, enum MHD_ValueKind kind, const char *key,
                                     const char *value) {
    struct lengths *l = user;
    (void)kind;
    (void)value;
    l->count += strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    l->chunked |= strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    return MHD_YES;
}

/* Refuses a body that is too long, or has its length twice: proxies may read that in two ways
 * (request smuggling, RFC 9112, section 11.2). A body in chunks has no length here, and is limited
 * as it arrives, by server_body. */
static enum server_status check_length(struct http_request *x) {
    struct lengths lengths = {0};
    const size_t most = x->http->server->options.body_max;
    (void)MHD_get_connection_values(x->connection, MHD_HEADER_KIND, count_lengths, &lengths);
    if (lengths.count > 1 || (lengths.count == 1 && lengths.chunked))
        return server_refuse(&x->request, SERVER_BAD_REQUEST,
                             "the length of the body is given twice");
    const char *text = header(x, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (text == NULL)
        return SERVER_OK;
    char *end;
    errno = 0;
    const unsigned long long length = strtoull(text, &end, 10);
    if (errno != 0 || length > most)
        return server_refuse(&x->request, SERVER_TOO_LARGE,
                             "a body of %.32s bytes; at most %zu are accepted (--max-body)", text,
                             most);
    return SERVER_OK;
}

/* Begins a request for predictions by its headers. The server is asked first: while it is full or
 * stops, nothing else about the request matters. `predicts` is set before, as server_begin is
 * followed by server_end in any case. */
static enum server_status begin_prediction(struct http_request *x) {
    struct server_request *request = &x->request;
    const char *type = header(x, MHD_HTTP_HEADER_CONTENT_TYPE);
    request->content = request_content_of(type);
    const bool accepts = request_accepts_json(header(x, MHD_HTTP_HEADER_ACCEPT), &request->masks);
    x->predicts = true;
    const enum server_status status = server_begin(x->http->server, request);
    if (status != SERVER_OK)
        return status;
    if (request->content == REQUEST_UNKNOWN)
        return server_refuse(request, SERVER_UNKNOWN_TYPE,
                             "Content-Type %s%.64s%s; expected image/jpeg, image/png, "
                             "application/x-image, application/octet-stream or application/json",
                             type != NULL ? "'" : "is missing", type != NULL ? type : "",
                             type != NULL ? "'" : "");
    if (!accepts)
        return server_refuse(request, SERVER_NOT_ACCEPTABLE,
                             "Accept asks for something else than application/json");
    return check_length(x);
}

/* Sets the route, or the error of an unknown path or a wrong method. The route is known in the
 * second case, and names the right method in the header Allow. */
static void find_route(struct http_request *x, const char *url, const char *method) {
    for (int i = 0; i < ROUTE_COUNT; i++) {
        if (strcmp(url, ROUTES[i].path) != 0)
            continue;
        x->route = ROUTES[i].route;
        if (strcmp(method, ROUTES[i].method) != 0)
            (void)server_refuse(&x->request, SERVER_NOT_ALLOWED, "%s takes %s requests",
                                ROUTES[i].path, ROUTES[i].method);
        return;
    }
    (void)server_refuse(&x->request, SERVER_NOT_FOUND,
                        "no such path; expected /ping, /invocations, /execution-parameters or "
                        "/metrics");
}

/* Called by the computing thread. The request is part of a struct http_request. */
static void answered(struct server_request *request) {
    struct http_request *x =
        (struct http_request *)(void *)((char *)request - offsetof(struct http_request, request));
    MHD_resume_connection(x->connection);
}

/* First call for a request, with its headers alone. NO, out of memory, closes the connection
 * without an answer. x->request is zeroed but for what is set here, so that server_end can follow
 * at any point. */
static enum MHD_Result begin(struct http_server *http, struct MHD_Connection *connection,
                             const char *url, const char *method, void **slot) {
    struct http_request *x = calloc(1, sizeof(*x));
    if (x == NULL)
        return MHD_NO;
    *slot = x;
    x->http = http;
    x->connection = connection;
    x->request.status = SERVER_OK;
    x->request.answered = answered;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    x->deadline = info != NULL ? info->socket_context : NULL;
    allow(x, http->options.receive);
    find_route(x, url, method);
    if (x->request.status == SERVER_OK && x->route == ROUTE_PREDICT)
        (void)begin_prediction(x);
    /* An error is answered before the body is read, and the connection then closed. */
    return x->request.status == SERVER_OK ? MHD_YES : send_answer(x);
}

/* A part of a body. NO closes the connection at once; it is counted, as the client gets no answer
 * that would explain it. */
static enum MHD_Result receive(struct http_request *x, const char *bytes, size_t size) {
    if (!x->predicts)
        return MHD_NO; /* a body where there should be none */
    x->received += size;
    if (server_body(&x->request, bytes, size) == 0)
        return MHD_YES;
    /* The library cannot answer in the middle of a body. */
    (void)server_refuse(&x->request, SERVER_TOO_LARGE, "the body is too long");
    serve_metrics_closed(&x->http->server->metrics);
    return MHD_NO;
}

/* The body is complete: decodes its pictures on this thread, queues them and suspends the
 * connection. It is suspended before its pictures are queued, since the computing thread may
 * answer, and resume it, at any time from then on. While it waits, it has no deadline: only the
 * server is slow then. The second call, after `answered`, sends. */
static enum MHD_Result predict(struct http_request *x) {
    if (!x->waits && server_prepare(&x->request) == SERVER_OK) {
        x->waits = true;
        connections_allow(&x->http->connections, x->deadline, INT64_MAX);
        MHD_suspend_connection(x->connection);
        if (!server_queue(&x->request))
            MHD_resume_connection(x->connection);
        return MHD_YES;
    }
    return send_answer(x);
}

/* *SIZE is set to 0 to say that all bytes of a part were taken. */
static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *bytes,
                              size_t *size, void **slot) {
    struct http_request *x = *slot;
    (void)version;
    if (x == NULL)
        return begin(user, connection, url, method, slot);
    if (*size > 0) {
        const size_t given = *size;
        *size = 0;
        return receive(x, bytes, given);
    }
    switch (x->route) {
    case ROUTE_PREDICT:
        return predict(x);
    case ROUTE_PING:
        return send_ping(x);
    case ROUTE_PARAMETERS:
        return send_parameters(x);
    case ROUTE_METRICS:
        return send_metrics(x);
    default:
        return MHD_NO;
    }
}

static void log_request(const struct http_request *x) {
    const struct server_request *r = &x->request;
    const double ms = (double)(clock_now() - r->begun_at) / (double)CLOCK_MILLISECOND;
    log_info("POST /invocations %d, %zu bytes, %zu picture%s, %.1f ms%s%.200s", (int)r->status,
             x->received, r->count, r->count == 1 ? "" : "s", ms,
             r->status == SERVER_OK ? "" : ": ", r->status == SERVER_OK ? "" : r->text);
}

/* Callback for the end of a request, answered or not. The connection may live on, so its deadline
 * starts anew. */
static void end(void *user, struct MHD_Connection *connection, void **slot,
                enum MHD_RequestTerminationCode why) {
    struct http_request *x = *slot;
    (void)user;
    (void)connection;
    (void)why;
    if (x == NULL)
        return;
    if (x->predicts && x->http->options.log)
        log_request(x);
    allow(x, time_between(x->http));
    if (x->predicts)
        server_end(&x->request);
    free(x);
    *slot = NULL;
}

/* --- the daemon ------------------------------------------------------------------------------- */

/* Only numeric addresses are taken: a name could stand for several, and would ask a DNS server at
 * start. */
static int resolve(const struct http_options *o, struct addrinfo **ret, struct error *err) {
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    char port[PORT_TEXT];
    (void)snprintf(port, sizeof(port), "%" PRIu16, o->port);
    const int result = getaddrinfo(o->address, port, &hints, ret);
    return result == 0
               ? 0
               : error_set(err, EXIT_CODE_USAGE, "--listen: '%.64s' is not an IP address: %s",
                           o->address, gai_strerror(result));
}

/* Opens the socket here and not in the library, for an error message with the reason. SO_REUSEADDR
 * lets a restart listen while connections of its predecessor are still in TIME_WAIT. On failure
 * *RET may be open. */
static int open_socket(const struct http_options *o, int *ret, struct error *err) {
    struct addrinfo *at = NULL;
    const int one = 1;
    if (resolve(o, &at, err) != 0)
        return -1;
    *ret = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool listens = *ret >= 0 &&
                         setsockopt(*ret, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
                         bind(*ret, at->ai_addr, at->ai_addrlen) == 0 && listen(*ret, BACKLOG) == 0;
    const int number = errno;
    freeaddrinfo(at);
    errno = number;
    return listens ? 0
                   : error_set_errno(err, EXIT_CODE_CONFIG,
                                     "port %" PRIu16
                                     " of %s: cannot listen; try another --port or --listen",
                                     o->port, o->address);
}

/* Each thread of the pool has an epoll set of its own for its share of the connections; it
 * receives, decodes and sends. A pool makes sense from two threads on; a single one is the daemon's
 * own. */
static int start_daemon(struct http_server *http, struct error *err) {
    const struct http_options *o = &http->options;
    const unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    int fd = -1;
    if (open_socket(o, &fd, err) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    const struct MHD_OptionItem pool[] = {
        {o->threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, o->threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    http->daemon = MHD_start_daemon(
        flags, o->port, NULL, NULL, handle, http, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->connections, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(o->idle / CLOCK_SECOND), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
        MHD_OPTION_NOTIFY_COMPLETED, end, NULL, MHD_OPTION_NOTIFY_CONNECTION, watch_connection,
        http, MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
    if (http->daemon != NULL)
        return 0;
    close(fd);
    return error_set(err, EXIT_CODE_INTERNAL, "the HTTP server did not start");
}

int http_server_start(struct http_server **ret, struct server *server,
                      const struct http_options *options, int stop, struct error *err) {
    struct http_server *http = calloc(1, sizeof(*http));
    *ret = http;
    if (http == NULL)
        return error_no_memory(err, "the HTTP server");
    http->server = server;
    http->options = *options;
    return connections_start(&http->connections, server, stop, err) != 0 ? -1
                                                                         : start_daemon(http, err);
}

/* The library must not be stopped while connections are suspended. None are left: server_compute
 * has handed every queued request back, and server_queue has refused the others. */
void http_server_done(struct http_server *http) {
    if (http == NULL)
        return;
    if (http->daemon != NULL)
        MHD_stop_daemon(http->daemon);
    connections_done(&http->connections);
    free(http);
}

const char *http_server_library(void) {
    static char text[64];
    (void)snprintf(text, sizeof(text), "libmicrohttpd %s", MHD_get_version());
    return text;
}
