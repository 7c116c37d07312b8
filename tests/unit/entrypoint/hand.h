/* Words on a control link that a test speaks by hand. */
#ifndef TESTS_UNIT_ENTRYPOINT_HAND_H
#define TESTS_UNIT_ENTRYPOINT_HAND_H

#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/tls.h"
#include "tests/unit/entrypoint/stage.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

static inline int put_frame(SSL *ssl, json_t *message) {
    struct buf out;
    struct error err;
    size_t sent = 0;
    buf_init(&out, FRAME_MAX);
    int put = frame_put(&out, message, &err);
    json_decref(message);
    int result = put == 0 ? SSL_write_ex(ssl, out.data, out.size, &sent) : 0;
    buf_done(&out);
    return result;
}

/* The next frame, from IN and what arrives after it; the caller owns it. */
static inline json_t *next_frame(SSL *ssl, struct buf *in) {
    struct error err;
    json_t *message = NULL;
    char bytes[4096];
    size_t got = 0;
    int taken = frame_take(in, &message, &err);
    while (taken == 0 && SSL_read_ex(ssl, bytes, sizeof(bytes), &got) == 1 &&
           buf_add(in, bytes, got, &err) == 0)
        taken = frame_take(in, &message, &err);
    return message;
}

static inline json_t *get_frame(SSL *ssl) {
    cleanup_buf struct buf in;
    buf_init(&in, FRAME_MAX);
    return next_frame(ssl, &in);
}

/* A worker of this version, by hand. */
struct hand {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
    struct buf heard;
};

/* The key is that of a job of HOSTS. */
static inline bool hand_reaches(struct hand *h, size_t hosts) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(ports_own()),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    (void)signal(SIGPIPE, SIG_IGN);
    buf_init(&h->heard, FRAME_MAX);
    h->context = stage_tls(hosts, 0);
    h->ssl = SSL_new(h->context);
    h->fd = socket(AF_INET, SOCK_STREAM, 0);
    return connect(h->fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
           SSL_set_fd(h->ssl, h->fd) == 1 && SSL_connect(h->ssl) == 1;
}

static inline void hand_connect(struct hand *h) {
    CU_ASSERT(hand_reaches(h, 2));
}

static inline void hand_done(struct hand *h) {
    SSL_free(h->ssl);
    (void)close(h->fd);
    tls_context_free(h->context);
    buf_done(&h->heard);
}

#endif
