#include "entrypoint/transfer/peers/peer_server.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "entrypoint/transfer/peers/peer_client.h"
#include "entrypoint/transfer/peers/peer_request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Threads: one accepts connections (listen_on), one serves each connection (serve_client). The
 * accepting thread alone fills places of clients[], a client's thread alone empties its own; the
 * lock covers both. A place is reused only after its last thread was joined.
 *
 * The server speaks just the HTTP that exchange.c needs: GET, one range, If-Match, connections that
 * stay open. Its clients are other hosts of the job, proved by the TLS key; before that proof
 * nothing they send is parsed. A request for a file that is not ready is held for WAIT_SECONDS and
 * then answered with the progress, as a client takes longer silence for a dead host.
 *
 * All waits on sockets are bounded by SO_RCVTIMEO and SO_SNDTIMEO, which OpenSSL's blocking calls
 * obey. peer_server_close shuts the sockets down, which ends these calls at once in every thread.
 */

enum {
    STACK_SIZE = 256 * 1024, /* per thread; buffers are on the heap (struct talk) */
    BLOCK_SIZE = 64 * 1024,  /* bytes of a file that are read and sent at a time */
    GREET_SECONDS = 10,      /* for the whole handshake */
    LOOK_SECONDS = 1,        /* between two checks for slow handshakes */
    SILENCE_SECONDS = 60,    /* between two requests, or without the client accepting data */
    WAIT_SECONDS =
        5, /* for a file that is not complete yet, before the client gets a progress answer */
    REST_MS = 100,     /* pause while this process has no descriptors left */
    ANSWER_MAX = 1024, /* bytes of an answer's head */
};

/* --- one client ------------------------------------------------------------------------------- */

/* State of one connection, with its buffers. */
struct talk {
    SSL *ssl;
    struct catalog *catalog;
    size_t size; /* of received bytes that are not answered yet */
    char head[PEER_REQUEST_HEAD_MAX];
    char block[BLOCK_SIZE];
};

/* SSL_write_ex() may accept a part. Fails when the client is gone or silent for too long. */
static int write_all(const struct talk *t, const char *bytes, size_t size) {
    while (size > 0) {
        size_t sent = 0;
        if (SSL_write_ex(t->ssl, bytes, size, &sent) != 1)
            return -1;
        bytes += sent;
        size -= sent;
    }
    return 0;
}

static int answer(const struct talk *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sends a short answer or the head of a longer one. Every answer has a known length, or none as
 * with 204, so the connection can be used for the next request. */
static int answer(const struct talk *t, const char *format, ...) {
    char text[ANSWER_MAX];
    va_list values;
    va_start(values, format);
    int size = vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    return size > 0 && size < ANSWER_MAX ? write_all(t, text, (size_t)size) : -1;
}

/* Tells that the file is still to come. "retry-after: 0" lets the client ask again at once, since
 * this host has done the waiting. */
static int answer_later(const struct talk *t, uint64_t steps) {
    char text[32];
    int size = snprintf(text, sizeof(text), "steps %" PRIu64, steps);
    return answer(t, "HTTP/1.1 %d Later\r\nretry-after: 0\r\ncontent-length: %d\r\n\r\n%s",
                  PEER_CLIENT_LATER, size, text);
}

/* Sends the bytes from AT to END. A file that became shorter ends the connection: the announced
 * length can no longer be kept. */
static int send_bytes(struct talk *t, int fd, int64_t at, int64_t end) {
    while (at < end) {
        size_t most = end - at < BLOCK_SIZE ? (size_t)(end - at) : BLOCK_SIZE;
        ssize_t got = pread(fd, t->block, most, at);
        if (got <= 0 || write_all(t, t->block, (size_t)got) != 0)
            return -1;
        at += got;
    }
    return 0;
}

/* Encodes a digest in base64, as S3 does. */
static void base64(const char hex[DIGEST_HEX_MAX], char ret[48]) {
    unsigned char raw[DIGEST_SHA256];
    for (size_t i = 0; i < sizeof(raw); i++) {
        const char byte[] = {hex[2 * i], hex[2 * i + 1], '\0'};
        raw[i] = (unsigned char)strtoul(byte, NULL, 16);
    }
    (void)EVP_EncodeBlock((unsigned char *)ret, raw, sizeof(raw));
}

/* Sends a file, or the range that was asked for. If-Match guards against another version: 412 lets
 * the client start anew. TO is inclusive, as in HTTP, and below 0 for "to the end". */
static int send_file(struct talk *t, const struct peer_request *w,
                     const struct catalog_file *file) {
    const struct catalog_facts *facts = &file->facts;
    char digest[48];
    char range[96] = "";
    if (w->etag[0] != '\0' && strcmp(w->etag, facts->etag) != 0)
        return answer(t, "HTTP/1.1 412 Another\r\ncontent-length: 0\r\n\r\n");
    if (w->from > 0 && w->from >= facts->size)
        return answer(t, "HTTP/1.1 416 Beyond\r\ncontent-length: 0\r\n\r\n");
    int64_t end = w->to >= 0 && w->to < facts->size ? w->to + 1 : facts->size;
    bool part = w->from > 0 || end < facts->size;
    if (part)
        (void)snprintf(range, sizeof(range),
                       "content-range: bytes %" PRId64 "-%" PRId64 "/%" PRId64 "\r\n", w->from,
                       end - 1, facts->size);
    base64(facts->sha256, digest);
    if (answer(t,
               "HTTP/1.1 %s\r\ncontent-length: %" PRId64 "\r\n%setag: \"%s\"\r\n"
               "x-amz-checksum-sha256: %s\r\n\r\n",
               part ? "206 Part" : "200 OK", end - w->from, range, facts->etag, digest) != 0)
        return -1;
    return send_bytes(t, file->fd, w->from, end);
}

/* Answers a request. One without a task asks only whether this host is up (peer_client_meet).
 * Returns -1 if the connection cannot be used any more. */
static int serve(struct talk *t, const struct peer_request *w) {
    struct catalog_file file;
    if (w->task[0] == '\0')
        return answer(t, "HTTP/1.1 204 Here\r\n\r\n");
    int64_t until = clock_now() + WAIT_SECONDS * CLOCK_SECOND;
    enum catalog_answer state = catalog_take(t->catalog, w->task, w->path, until, &file);
    if (state == CATALOG_LATER)
        return answer_later(t, file.steps);
    if (state == CATALOG_NEVER)
        return answer(t, "HTTP/1.1 %d Never\r\ncontent-length: 0\r\n\r\n", PEER_CLIENT_NEVER);
    int result = send_file(t, w, &file);
    (void)close(file.fd);
    return result;
}

/* Answers the next request. Returns 1 while another may follow. Requests may come faster than they
 * are answered: what follows the first head stays in the buffer. A head that fills the buffer
 * without an end closes the connection. */
static int serve_next(struct talk *t) {
    struct peer_request wanted;
    size_t whole = 0;
    while ((whole = peer_request_head(t->head, t->size)) == 0) {
        size_t got = 0;
        if (t->size == sizeof(t->head) ||
            SSL_read_ex(t->ssl, t->head + t->size, sizeof(t->head) - t->size, &got) != 1)
            return 0;
        t->size += got;
    }
    if (peer_request_parse(t->head, whole, &wanted) != 0) {
        (void)answer(t, "HTTP/1.1 400 Not understood\r\ncontent-length: 0\r\n\r\n");
        return 0;
    }
    t->size -= whole;
    memmove(t->head, t->head + whole, t->size);
    return serve(t, &wanted) == 0;
}

/* Limits each later read and write on the socket to SECONDS. */
static void set_patience(int fd, int seconds) {
    const struct timeval time = {.tv_sec = seconds};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
}

/* From now on the accepting thread no longer closes this connection as a stranger's. */
static void know(struct peer_server_client *g) {
    (void)pthread_mutex_lock(&g->peer_server->lock);
    g->known = true;
    (void)pthread_mutex_unlock(&g->peer_server->lock);
}

/* Handshake, then requests until the client leaves. The error queue of OpenSSL belongs to the
 * thread and is cleared, since it would count for a later call otherwise. */
static void meet(struct peer_server_client *g, int fd) {
    struct talk *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return;
    t->catalog = g->peer_server->catalog;
    t->ssl = SSL_new(g->peer_server->tls);
    set_patience(fd, GREET_SECONDS);
    if (t->ssl != NULL && SSL_set_fd(t->ssl, fd) == 1 && SSL_accept(t->ssl) == 1 &&
        tls_check(t->ssl, NULL) == 0) {
        know(g);
        set_patience(fd, SILENCE_SECONDS);
        while (serve_next(t))
            ;
        (void)SSL_shutdown(t->ssl);
    }
    SSL_free(t->ssl);
    free(t);
    ERR_clear_error();
}

/* The place is free once fd is -1. The thread itself is joined by the next user of the place or by
 * peer_server_close. */
static void *serve_client(void *context) {
    struct peer_server_client *g = context;
    struct peer_server *h = g->peer_server;
    (void)pthread_mutex_lock(&h->lock);
    int fd = g->fd;
    (void)pthread_mutex_unlock(&h->lock);
    meet(g, fd);
    (void)pthread_mutex_lock(&h->lock);
    (void)close(g->fd);
    g->fd = -1;
    (void)pthread_cond_signal(&h->left);
    (void)pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* --- accepting -------------------------------------------------------------------------------- */

/* Starts a thread with a small stack: there are up to PEER_SERVER_CLIENTS of them. */
static int start(pthread_t *ret, void *(*run)(void *context), void *context) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return -1;
    int result = pthread_attr_setstacksize(&attributes, STACK_SIZE);
    if (result == 0)
        result = pthread_create(ret, &attributes, run, context);
    (void)pthread_attr_destroy(&attributes);
    return result == 0 ? 0 : -1;
}

/* Gives the connection FD, which it takes over, to a free client. The caller has made sure
 * that there is one. */
static int admit(struct peer_server *h, int fd) {
    struct peer_server_client *g = h->clients;
    (void)pthread_mutex_lock(&h->lock);
    while (g->fd >= 0)
        g++;
    if (g->started)
        (void)pthread_join(g->thread, NULL); /* its thread has released the place */
    g->fd = fd;
    g->came = clock_now();
    g->known = false;
    g->started = !h->closing && start(&g->thread, serve_client, g) == 0;
    if (!g->started) {
        (void)close(fd);
        g->fd = -1;
    }
    (void)pthread_mutex_unlock(&h->lock);
    return g->started ? 0 : -1;
}

/* Read under the lock, as another thread sets it. */
static bool is_closing(struct peer_server *h) {
    (void)pthread_mutex_lock(&h->lock);
    bool closing = h->closing;
    (void)pthread_mutex_unlock(&h->lock);
    return closing;
}

/* Closes connections with a slow handshake: a client without the key could otherwise hold a place
 * with a byte now and then. The caller holds the lock. shutdown() ends the handshake's read;
 * closing the descriptor is left to the client's thread, which still uses it. */
static void send_strangers_away(struct peer_server *h) {
    int64_t since = clock_now() - GREET_SECONDS * CLOCK_SECOND;
    for (size_t i = 0; i < PEER_SERVER_CLIENTS; i++)
        if (h->clients[i].fd >= 0 && !h->clients[i].known && h->clients[i].came < since)
            (void)shutdown(h->clients[i].fd, SHUT_RDWR);
}

/* Under the lock. */
static bool has_place(const struct peer_server *h) {
    for (size_t i = 0; i < PEER_SERVER_CLIENTS; i++)
        if (h->clients[i].fd < 0)
            return true;
    return false;
}

/* No other thread admits clients, so the place stays free. */
static void wait_for_place(struct peer_server *h) {
    (void)pthread_mutex_lock(&h->lock);
    while (!has_place(h)) {
        int64_t until = clock_now() + LOOK_SECONDS * CLOCK_SECOND;
        const struct timespec end = {.tv_sec = until / CLOCK_SECOND,
                                     .tv_nsec = until % CLOCK_SECOND};
        if (pthread_cond_timedwait(&h->left, &h->lock, &end) != 0)
            send_strangers_away(h);
    }
    (void)pthread_mutex_unlock(&h->lock);
}

/* Accepts connections. While all places are taken, new ones wait in the kernel's queue. */
static void *listen_on(void *context) {
    struct peer_server *h = context;
    struct pollfd watched = {.fd = h->listener, .events = POLLIN};
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(
        SIG_BLOCK, &all,
        NULL); /* inherited by the clients' threads: their peers may disconnect at any time */
    wait_for_place(h);
    while (!is_closing(h)) {
        (void)poll(&watched, 1, LOOK_SECONDS * 1000);
        (void)pthread_mutex_lock(&h->lock);
        send_strangers_away(h);
        (void)pthread_mutex_unlock(&h->lock);
        int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
            (void)poll(NULL, 0, REST_MS); /* the connection stays in the queue */
        if (fd < 0 || admit(h, fd) != 0)
            continue;
        wait_for_place(h);
    }
    return NULL;
}

static int open_condition(pthread_cond_t *ret) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return -1;
    int result = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (result == 0)
        result = pthread_cond_init(ret, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return result == 0 ? 0 : -1;
}

/* The TLS context and the listener are freed here if a step fails. Places are marked free by fd -1.
 */
int peer_server_open(struct peer_server *h, int listener, const unsigned char key[TLS_KEY_SIZE],
                     struct catalog *catalog, struct error *err) {
    *h = (struct peer_server){.catalog = catalog, .listener = listener};
    for (size_t i = 0; i < PEER_SERVER_CLIENTS; i++)
        h->clients[i] = (struct peer_server_client){.peer_server = h, .fd = -1};
    h->tls = tls_context_new(key, true, err);
    if (h->tls == NULL) {
        (void)close(listener);
        return -1;
    }
    if (pthread_mutex_init(&h->lock, NULL) == 0 && open_condition(&h->left) == 0 &&
        start(&h->thread, listen_on, h) == 0) {
        h->open = true;
        return 0;
    }
    tls_context_free(h->tls);
    (void)close(listener);
    return error_no_memory(err, "the shared files");
}

/* Order: `closing` keeps new clients out, shutdown() wakes all threads, and only then are they
 * joined. The accepting thread goes first, since it starts and joins the others. Safe if never
 * opened. */
void peer_server_close(struct peer_server *h) {
    if (!h->open)
        return;
    (void)pthread_mutex_lock(&h->lock);
    h->closing = true;
    for (size_t i = 0; i < PEER_SERVER_CLIENTS; i++)
        if (h->clients[i].fd >= 0)
            (void)shutdown(h->clients[i].fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&h->lock);
    (void)shutdown(h->listener, SHUT_RDWR);
    (void)pthread_join(h->thread, NULL);
    for (size_t i = 0; i < PEER_SERVER_CLIENTS; i++)
        if (h->clients[i].started)
            (void)pthread_join(h->clients[i].thread, NULL);
    (void)close(h->listener);
    tls_context_free(h->tls);
    (void)pthread_cond_destroy(&h->left);
    (void)pthread_mutex_destroy(&h->lock);
    h->open = false;
}
