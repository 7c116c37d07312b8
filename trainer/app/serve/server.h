/* Server for predictions, without its protocol: requests in progress, the queue of their pictures,
 * and the thread that computes batches.
 *
 * A request is begun, gets the bytes of its body, is prepared (its pictures are decoded) and queued
 * by a thread of the protocol, and is handed back by `answered`, from the computing thread, once
 * all its pictures are computed. Everything it may take is limited: pictures in the queue, bytes of
 * one body, and bytes of all of them. A stop lets requests that were begun be answered. */
#ifndef TRAINER_APP_SERVE_SERVER_H
#define TRAINER_APP_SERVE_SERVER_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/serve/picture_queue.h"
#include "trainer/app/serve/request/request_form.h"
#include "trainer/app/serve/servable.h"
#include "trainer/app/serve/serve_metrics.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVER_WORKERS_MAX = 256, SERVER_ERROR_MAX = 512 };

/* Statuses of HTTP. */
enum server_status {
    SERVER_OK = 200,
    SERVER_BAD_REQUEST = 400,
    SERVER_NOT_FOUND = 404,
    SERVER_NOT_ALLOWED = 405,
    SERVER_NOT_ACCEPTABLE = 406,
    SERVER_TOO_LARGE = 413,
    SERVER_UNKNOWN_TYPE = 415,
    SERVER_FAILED = 500,
    SERVER_BUSY = 503,
};

struct server_options {
    struct picture_queue queue; /* sizes, limit and delay */
    size_t body_max;            /* bytes of one request's body */
    size_t bodies_max;          /* bytes of all bodies in memory */
    int64_t stop;               /* nanoseconds that requests have to be answered after a stop */
};

struct server {
    struct server_options options;
    const struct servable *servable; /* borrowed */
    struct serve_metrics metrics;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool made;
    struct picture_queue queue;
    size_t begun;       /* requests that were begun and have not ended */
    size_t waiting;     /* those with pictures in the queue or the network */
    size_t connections; /* open ones, as the protocol tells */
    size_t body_bytes;
    bool stopping;
    int64_t stop_at;                   /* when a stop's time is over */
    bool closed;                       /* nothing is computed any more */
    bool broken;                       /* the network cannot compute */
    void *workers[SERVER_WORKERS_MAX]; /* idle ones */
    int worker_count;
};

struct server_request {
    struct server *server;
    enum request_content content;
    bool masks;
    struct buf body;
    struct served_picture *pictures; /* owned */
    size_t count, capacity, left;
    enum server_status status;
    char text[SERVER_ERROR_MAX]; /* words for an error's status */
    int64_t begun_at;
    void (*answered)(struct server_request *request);
};

int server_init(struct server *server, const struct server_options *options,
                const struct servable *servable, struct error *err);
void server_done(struct server *server);

/* Begins REQUEST, of which `content`, `masks` and `answered` are set; it must not move. Returns
 * SERVER_OK, or why it is refused. In any case server_end follows. */
enum server_status server_begin(struct server *server, struct server_request *request);
/* Appends to its body. Fails beyond a limit. */
int server_body(struct server_request *request, const void *bytes, size_t size);
/* Decodes its pictures. Returns SERVER_OK or sets the status of an error. */
enum server_status server_prepare(struct server_request *request);
/* Queues them. From here on the request belongs to the computing thread, until `answered`. Returns
 * false, with the status of an error, if there is no room. */
bool server_queue(struct server_request *request);
/* Appends {"predictions": [...]} of an answered request, or {"error": TEXT} by its status. */
int server_answer(const struct server_request *request, struct buf *out, struct error *err);
/* Ends REQUEST after its answer was sent, or could not be. */
void server_end(struct server_request *request);

/* Fills REQUEST's status and text. Returns the status. */
enum server_status server_refuse(struct server_request *request, enum server_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A connection was opened (+1) or closed (-1). */
void server_connections(struct server *server, int change);

/* Computes on this thread until a stop was asked for and all begun requests have ended, or their
 * time is over; those left then are handed back with an error. */
void server_compute(struct server *server);
/* Asks for a stop, from any thread: new requests are refused. */
void server_stop(struct server *server);
bool server_is_stopping(struct server *server);
/* False once the network has failed to compute. */
bool server_is_healthy(struct server *server);

int server_print_metrics(struct server *server, struct buf *out, struct error *err);

#endif
