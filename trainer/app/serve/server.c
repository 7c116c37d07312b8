#include "trainer/app/serve/server.h"

#include "common/clock.h"
#include "common/grow.h"
#include "common/json/json_text.h"
#include "common/log/log.h"
#include "common/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Two kinds of threads meet here. Threads of the protocol begin requests, take their bodies, decode
 * their pictures and queue them; the one thread in server_compute forms batches, runs the network
 * and hands requests back. One lock guards everything that both change: it is held for counters and
 * lists, never while a picture is decoded, a batch computed or `answered` called.
 *
 * A request belongs to the protocol's thread until server_queue has added it, and to the computing
 * thread from then until `answered`. After a successful server_queue the protocol's thread
 * therefore touches nothing of it: it may have been answered and freed by now.
 *
 * Three numbers tell the computing thread what may still come: `begun` requests that have not
 * ended, those of them that are `waiting`, and open `connections`. Each change of them signals
 * `changed`, since it may end a wait for a fuller batch or for the end of a stop. */

/* The condition measures time on the monotonic clock, as clock_now does: a deadline must not move
 * when the clock of the machine is set. */
int server_init(struct server *s, const struct server_options *options,
                const struct servable *servable, struct error *err) {
    pthread_condattr_t monotonic;
    *s = (struct server){.options = *options, .servable = servable, .queue = options->queue};
    if (pthread_condattr_init(&monotonic) != 0)
        return error_no_memory(err, "the server");
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&s->lock, NULL);
    serve_metrics_init(&s->metrics);
    s->made = true;
    return 0;
}

/* Called when neither kind of thread runs any more, and also for a server that was never made, or
 * only in part: then `made` is false. */
void server_done(struct server *s) {
    if (!s->made)
        return;
    while (s->worker_count > 0)
        s->servable->table->worker_close(s->workers[--s->worker_count]);
    serve_metrics_done(&s->metrics);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->changed);
    s->made = false;
}

/* A later refusal replaces the text and status of an earlier one; the client gets the last. */
enum server_status server_refuse(struct server_request *request, enum server_status status,
                                 const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(request->text, sizeof(request->text), format, args);
    va_end(args);
    request->status = status;
    return status;
}

/* --- requests --------------------------------------------------------------------------------- */

/* A refused request counts as begun, too: server_end follows in any case, and takes it off again.
 * Refusing here, before the body arrives, saves memory and the client's time; a request that passes
 * may still be refused by server_queue if others were faster. */
enum server_status server_begin(struct server *s, struct server_request *request) {
    request->server = s;
    request->begun_at = clock_now();
    request->status = SERVER_OK;
    buf_init(&request->body, s->options.body_max);
    (void)pthread_mutex_lock(&s->lock);
    s->begun++;
    const bool stopping = s->stopping, broken = s->broken;
    const bool full = s->queue.count == s->queue.limit || s->body_bytes >= s->options.bodies_max;
    (void)pthread_mutex_unlock(&s->lock);
    if (stopping)
        return server_refuse(request, SERVER_BUSY, "the server is stopping");
    if (broken)
        return server_refuse(request, SERVER_FAILED, "the network cannot compute any more");
    if (full)
        return server_refuse(request, SERVER_BUSY, "too many requests wait; try again later");
    return SERVER_OK;
}

/* The bytes are counted before they are stored, so that all bodies together never exceed the limit,
 * however many threads receive. What a failed call has counted is taken back at once, what a
 * successful one has counted by release_body. */
int server_body(struct server_request *request, const void *bytes, size_t size) {
    struct server *s = request->server;
    (void)pthread_mutex_lock(&s->lock);
    const bool fits = size <= s->options.bodies_max - s->body_bytes;
    if (fits)
        s->body_bytes += size;
    (void)pthread_mutex_unlock(&s->lock);
    if (!fits)
        return -1;
    if (buf_add(&request->body, bytes, size, NULL) == 0)
        return 0;
    (void)pthread_mutex_lock(&s->lock);
    s->body_bytes -= size;
    (void)pthread_mutex_unlock(&s->lock);
    return -1;
}

/* Frees the body as early as possible, since decoded pictures take over from it. Safe to call
 * twice: the size of a freed buffer is 0. */
static void release_body(struct server_request *request) {
    struct server *s = request->server;
    (void)pthread_mutex_lock(&s->lock);
    s->body_bytes -= request->body.size;
    (void)pthread_mutex_unlock(&s->lock);
    buf_done(&request->body);
}

/* Returns an idle worker, or a new one; NULL with an error out of memory. There are never more
 * workers than threads of the protocol, as each uses one at a time. */
static void *take_worker(struct server *s, struct error *err) {
    void *worker = NULL;
    (void)pthread_mutex_lock(&s->lock);
    if (s->worker_count > 0)
        worker = s->workers[--s->worker_count];
    (void)pthread_mutex_unlock(&s->lock);
    if (worker != NULL || s->servable->table->worker_open(s->servable, &worker, err) == 0)
        return worker;
    s->servable->table->worker_close(worker);
    return NULL;
}

/* Keeps WORKER for the next request of any thread: its decoder's buffers are worth keeping. */
static void give_worker(struct server *s, void *worker) {
    (void)pthread_mutex_lock(&s->lock);
    if (s->worker_count < SERVER_WORKERS_MAX) {
        s->workers[s->worker_count++] = worker;
        worker = NULL;
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (worker != NULL)
        s->servable->table->worker_close(worker);
}

/* Makes room for the picture at PLACE, which follows the last one; returns NULL out of memory. The
 * array may move, so nothing points into it until all pictures are there (server_queue). */
static struct served_picture *add_picture(struct server_request *request, size_t place,
                                          struct error *err) {
    if (grow_array(&request->pictures, &request->capacity, place + 1, sizeof(*request->pictures),
                   "pictures of a request", err) != 0)
        return NULL;
    request->pictures[place] = (struct served_picture){.request = request, .masks = request->masks};
    request->count = place + 1;
    return &request->pictures[place];
}

/* Context of decode_picture while the body of a request is read. */
struct preparing {
    struct server_request *request;
    void *worker;
};

/* Callback of request_read; USER is a struct preparing. */
static int decode_picture(void *user, size_t place, const uint8_t *bytes, size_t size,
                          struct error *err) {
    const struct preparing *p = user;
    const struct servable *servable = p->request->server->servable;
    struct served_picture *picture = add_picture(p->request, place, err);
    return picture != NULL ? servable->table->decode(servable, p->worker, bytes, size, picture, err)
                           : -1;
}

/* All errors but those of the client's data are taken for temporary ones of this machine: their
 * text goes to the log, and the client is asked to come back. */
enum server_status server_prepare(struct server_request *request) {
    struct error err = {0};
    struct preparing p = {.request = request, .worker = take_worker(request->server, &err)};
    const struct request_pictures pictures = {decode_picture, &p};
    if (p.worker != NULL) {
        (void)request_read(request->content, &request->body, &pictures, &err);
        give_worker(request->server, p.worker);
    }
    release_body(request);
    if (err.code == EXIT_CODE_OK)
        return SERVER_OK;
    if (err.code == EXIT_CODE_DATA)
        return server_refuse(request, SERVER_BAD_REQUEST, "%s", err.text);
    log_error("%s", err.text);
    return server_refuse(request, SERVER_BUSY, "the server is short of memory; try again later");
}

/* All pictures of a request are queued together or not at all, so a request is never answered in
 * part. A request with more pictures than the queue takes could never succeed and gets a status
 * that says so; any other refusal is worth another try. */
bool server_queue(struct server_request *request) {
    struct server *s = request->server;
    struct queued_picture *list[REQUEST_INSTANCES_MAX];
    /* The request reader has taken at most REQUEST_INSTANCES_MAX pictures (request_form.c). */
    const size_t count = request->count;
    for (size_t i = 0; i < count; i++)
        list[i] = &request->pictures[i].queued;
    request->left = count;
    (void)pthread_mutex_lock(&s->lock);
    const bool closed = s->closed;
    const bool added = !closed && picture_queue_add(&s->queue, list, count, clock_now());
    s->waiting += added;
    (void)pthread_cond_signal(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    if (added)
        return true;
    if (closed)
        (void)server_refuse(request, SERVER_BUSY, "the server is stopping");
    else if (count > s->queue.limit)
        (void)server_refuse(request, SERVER_TOO_LARGE,
                            "%zu pictures in a request; at most %zu may wait", count,
                            s->queue.limit);
    else
        (void)server_refuse(request, SERVER_BUSY, "too many pictures wait; try again later");
    return false;
}

/* The answers of pictures are JSON objects already, and are joined as they are. */
int server_answer(const struct server_request *request, struct buf *out, struct error *err) {
    if (request->status != SERVER_OK)
        return buf_add_text(out, "{\"error\": ", err) != 0 ||
                       json_text_quote(out, request->text, strlen(request->text), err) != 0 ||
                       buf_add_text(out, "}\n", err) != 0
                   ? -1
                   : 0;
    if (buf_add_text(out, "{\"predictions\": [", err) != 0)
        return -1;
    for (size_t i = 0; i < request->count; i++) {
        const struct buf *answer = &request->pictures[i].answer;
        if (buf_add_text(out, i > 0 ? ",\n" : "", err) != 0 ||
            buf_add(out, buf_text(answer), answer->size, err) != 0)
            return -1;
    }
    return buf_add_text(out, "]}\n", err);
}

static void picture_done(struct served_picture *picture) {
    free(picture->pixels);
    picture->pixels = NULL;
    free(picture->own);
    picture->own = NULL;
    buf_done(&picture->answer);
}

/* Records the answer after it was sent, so that the time includes the sending. The signal lets a
 * stop end as soon as the last request has. */
void server_end(struct server_request *request) {
    struct server *s = request->server;
    serve_metrics_answer(&s->metrics, (int)request->status,
                         (double)(clock_now() - request->begun_at) / (double)CLOCK_SECOND);
    release_body(request);
    for (size_t i = 0; i < request->count; i++)
        picture_done(&request->pictures[i]);
    free(request->pictures);
    request->pictures = NULL;
    request->count = request->capacity = 0;
    (void)pthread_mutex_lock(&s->lock);
    s->begun--;
    (void)pthread_cond_signal(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
}

void server_connections(struct server *s, int change) {
    (void)pthread_mutex_lock(&s->lock);
    s->connections += (size_t)change;
    (void)pthread_cond_signal(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
}

/* --- computing -------------------------------------------------------------------------------- */

/* Records the outcome of a picture, with the lock; returns its request if that was the last one.
 * The first error of a request's pictures becomes its answer. */
static struct server_request *settle(struct served_picture *picture) {
    struct server_request *request = picture->request;
    if (picture->error.code != EXIT_CODE_OK && request->status == SERVER_OK)
        (void)server_refuse(request, SERVER_FAILED, "%s", picture->error.text);
    if (--request->left > 0)
        return NULL;
    request->server->waiting--;
    return request;
}

/* Hands back requests without the lock: `answered` calls into the library of the protocol, which
 * has locks of its own and may call back here. */
static void hand_back(struct server *s, struct server_request *const *requests, int count) {
    (void)pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < count; i++)
        requests[i]->answered(requests[i]);
    (void)pthread_mutex_lock(&s->lock);
}

/* Computes a batch, called and left with the lock, which is released meanwhile so that pictures can
 * arrive. A failure of the network itself ends all hope: `broken` makes server_begin refuse, and
 * /ping tell the platform to replace this container. An error of one picture concerns its request
 * alone. */
static void compute_batch(struct server *s, struct queued_picture *const *batch, int count) {
    struct served_picture *pictures[PICTURE_QUEUE_BATCH_MAX];
    struct server_request *finished[PICTURE_QUEUE_BATCH_MAX];
    struct error err = {0};
    int done = 0;
    /* The network is compiled for a few sizes: where batches are padded (picture_queue.h), SIZE may
     * exceed COUNT. */
    const int size = picture_queue_size_of(&s->queue, count);
    for (int i = 0; i < count; i++)
        pictures[i] = (struct served_picture *)batch[i];
    (void)pthread_mutex_unlock(&s->lock);
    const int64_t begun_at = clock_now();
    const int result = s->servable->table->compute(s->servable, pictures, count, size, &err);
    serve_metrics_batch(&s->metrics, count,
                        (double)(clock_now() - begun_at) / (double)CLOCK_SECOND);
    if (result != 0)
        log_error("the network cannot compute: %s", err.text);
    (void)pthread_mutex_lock(&s->lock);
    s->broken |= result != 0;
    for (int i = 0; i < count; i++) {
        if (result != 0)
            (void)error_set(&pictures[i]->error, EXIT_CODE_INTERNAL,
                            "the network cannot compute any more");
        struct server_request *request = settle(pictures[i]);
        if (request != NULL)
            finished[done++] = request;
    }
    hand_back(s, finished, done);
}

/* Waits for a change until DEADLINE (INT64_MAX: for as long as it takes), or until the time of a
 * stop is over. It may return early without a change: the caller looks at everything again. */
static void wait_change(struct server *s, int64_t deadline) {
    if (s->stopping && s->stop_at < deadline)
        deadline = s->stop_at;
    if (deadline == INT64_MAX) {
        (void)pthread_cond_wait(&s->changed, &s->lock);
        return;
    }
    const struct timespec until = {.tv_sec = deadline / CLOCK_SECOND,
                                   .tv_nsec = deadline % CLOCK_SECOND};
    (void)pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

/* A stop is over once no client waits for an answer, or when its time has passed. */
static bool is_finished(const struct server *s) {
    return s->stopping && (s->begun == 0 || clock_now() >= s->stop_at);
}

/* Returns true if other pictures may arrive: of requests that are begun, or on connections without
 * one. Otherwise waiting for a fuller batch would only add to the latency; a single client that
 * waits for each answer is served without delay. During a stop idle connections no longer count. */
static bool may_grow(const struct server *s) {
    return s->begun > s->waiting || (!s->stopping && s->connections > s->begun);
}

/* Hands back what still waits when the time of a stop is over. `closed` is set first, so that a
 * request that is still being decoded finds the queue shut. */
static void give_up(struct server *s) {
    s->closed = true;
    struct queued_picture *next = picture_queue_clear(&s->queue);
    while (next != NULL) {
        struct served_picture *picture = (struct served_picture *)next;
        next = next->next;
        (void)server_refuse(picture->request, SERVER_BUSY, "the server is stopping");
        struct server_request *request = settle(picture);
        if (request != NULL)
            hand_back(s, &request, 1);
    }
}

/* The batch is computed on the caller's thread, which has opened the network: backends need not
 * allow for a change of threads. */
void server_compute(struct server *s) {
    struct queued_picture *batch[PICTURE_QUEUE_BATCH_MAX];
    (void)pthread_mutex_lock(&s->lock);
    while (!is_finished(s)) {
        int64_t wake;
        const int count = picture_queue_take(&s->queue, clock_now(), may_grow(s), batch, &wake);
        if (count > 0)
            compute_batch(s, batch, count);
        else
            wait_change(s, wake);
    }
    give_up(s);
    (void)pthread_mutex_unlock(&s->lock);
}

/* Only the first call sets the deadline: a second signal does not prolong the stop. */
void server_stop(struct server *s) {
    (void)pthread_mutex_lock(&s->lock);
    if (!s->stopping)
        s->stop_at = clock_now() + s->options.stop;
    s->stopping = true;
    (void)pthread_cond_signal(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
}

/* Asked by the threads of the protocol, to close connections after their answers. */
bool server_is_stopping(struct server *s) {
    (void)pthread_mutex_lock(&s->lock);
    const bool stopping = s->stopping;
    (void)pthread_mutex_unlock(&s->lock);
    return stopping;
}

bool server_is_healthy(struct server *s) {
    (void)pthread_mutex_lock(&s->lock);
    const bool broken = s->broken;
    (void)pthread_mutex_unlock(&s->lock);
    return !broken;
}

/* The gauges are read together under the lock, so that they belong to one moment; the counters have
 * a lock of their own. */
int server_print_metrics(struct server *s, struct buf *out, struct error *err) {
    (void)pthread_mutex_lock(&s->lock);
    const struct serve_gauges gauges = {s->queue.count, s->queue.limit, s->connections,
                                        s->body_bytes};
    (void)pthread_mutex_unlock(&s->lock);
    return serve_metrics_print(&s->metrics, &gauges, out, err);
}
