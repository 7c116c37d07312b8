#include "entrypoint/wire/link.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/link_state.h"
#include "entrypoint/wire/message.h"
#include "entrypoint/wire/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A link has one watch in the loop, and ready() is its only way in from there. Until the handshake
 * is done, ready() does nothing else; a plain link begins open. Afterwards it reads all that is
 * there, takes whole frames out of the buffer, and writes as much as the socket takes.
 *
 * Any callback may free the link, directly or through its owner's own logic. `busy` marks the time
 * inside callbacks, and after each step that may have called one, link_is_gone() is asked before
 * the link is touched again. Functions that fail the link return at once.
 *
 * Frames that were received are counted, and the count is sent to the peer (MESSAGE_TAKEN), which
 * may then forget them. This is what lets link_resume.c continue over another connection without
 * losing or repeating a message. The acknowledgements are messages of the link itself and never
 * reach its owner. */

/* An acknowledgement goes out after so many bytes, or frames: after the smaller number where a
 * message is sent anyhow, and after the larger one by itself. The peer's queue is bounded by
 * SEND_QUEUE_WINDOW, far above ACKNOWLEDGE_SIZE. */
enum {
    READ_SIZE = 16 * 1024,
    ACKNOWLEDGE_SIZE = 64 * 1024,
    ACKNOWLEDGE_FRAMES = 16,
    ACKNOWLEDGE_FRAMES_MAX = 64,
};

/* False while the window is full, even if messages wait: an acknowledgement opens it again. */
static bool may_write(const struct link *l) {
    const char *bytes;
    return send_queue_ready(&l->out, &bytes) > 0;
}

/* Reading is always wanted, as the end of the connection is noticed only so. A failure here ends
 * the link, because it would never be woken again. */
void link_rewatch(struct link *l, uint32_t wanted) {
    struct error why;
    uint32_t events = EPOLLIN | wanted;
    if (l->open && may_write(l))
        events |= EPOLLOUT;
    if (!link_is_gone(l) && !l->held && loop_watch(l->loop, &l->watch, events, &why) != 0)
        link_fail(l, &why);
}

/* OpenSSL says which direction it waits for. After the handshake tls_check() makes sure that the
 * key was used: a library without the suite could leave it out. The owner learns of it last, since
 * it may free the link. */
static void handshake(struct link *l) {
    ERR_clear_error();
    errno = 0;
    int result = SSL_do_handshake(l->ssl);
    if (result != 1) {
        int kind = SSL_get_error(l->ssl, result);
        if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
            link_rewatch(l, kind == SSL_ERROR_WANT_WRITE ? EPOLLOUT : 0);
        else
            link_fail_by_tls(l, result);
        return;
    }
    struct error why;
    if (tls_check(l->ssl, &why) != 0) {
        link_fail(l, &why);
        return;
    }
    if (tls_name(l->ssl, l->name, &why) != 0) {
        link_fail(l, &why);
        return;
    }
    l->open = true;
    loop_cancel(l->loop, &l->handshake);
    link_rewatch(l, 0);
    if (!link_is_gone(l) && l->events->opened != NULL)
        l->events->opened(l->context);
}

/* The timer's callback is no callback of the watch, so it guards the link against link_free()
 * itself. */
static void late(void *context) {
    struct link *l = context;
    struct error why;
    (void)error_set(&why, EXIT_CODE_NOT_READY, "no handshake within %d s", LINK_HANDSHAKE_SECONDS);
    l->busy = true;
    link_fail(l, &why);
    l->busy = false;
    if (l->freed)
        link_destroy(l);
}

/* Reads up to SIZE bytes; returns 0 if there are none now or the link has failed. errno is cleared
 * before calls of OpenSSL, which leaves it alone where no system call failed. */
static size_t receive(struct link *l, char *bytes, size_t size) {
    if (l->ssl == NULL) {
        ssize_t got = passed_fds_receive(l->watch.fd, bytes, size, l->fds, &l->fd_count);
        if (got > 0)
            return (size_t)got;
        if (got == 0)
            link_fail_by_end(l);
        else if (errno != EAGAIN && errno != EINTR)
            link_fail_by_errno(l);
        return 0;
    }
    size_t got = 0;
    ERR_clear_error();
    errno = 0;
    int result = SSL_read_ex(l->ssl, bytes, size, &got);
    if (result == 1)
        return got;
    if (SSL_get_error(l->ssl, result) != SSL_ERROR_WANT_READ)
        link_fail_by_tls(l, result);
    return 0;
}

/* If a message cannot be queued, the link's end is reported through the loop, like any other end.
 * The caller may be in the middle of something and does not expect its own callback here. With TLS
 * only reading is shut down, so that the peer sees no end in order. */
static void put(struct link *l, json_t *message) {
    struct error ignored;
    bool waits = may_write(l);
    if (message == NULL || send_queue_put(&l->out, message, &ignored) != 0) {
        l->cut = true;
        (void)shutdown(l->watch.fd, l->ssl != NULL ? SHUT_RD : SHUT_RDWR); /* no end at the peer */
    }
    json_decref(message);
    if (!link_is_gone(l) && l->open && !waits && !l->held)
        (void)loop_watch(l->loop, &l->watch, EPOLLIN | (may_write(l) ? EPOLLOUT : 0), &ignored);
}

/* A message of another version can be read as JSON, but not understood. Most owners have no
 * callback for it. */
static void take_foreign(struct link *l, const json_t *message) {
    struct error why;
    if (l->events->foreign != NULL) {
        l->events->foreign(l->context, message);
        return;
    }
    (void)frame_error_version(&why, "the peer", frame_version(message));
    link_fail(l, &why);
}

/* Handles a message of this version: the link's own, or its owner's. A count that is missing reads
 * as 0, which an acknowledgement may be; a negative one is impossible and ends the link. */
static void take_message(struct link *l, const json_t *message) {
    struct error why;
    if (l->ssl == NULL || message_kind(message) != MESSAGE_TAKEN) {
        l->events->message(l->context, message);
        return;
    }
    json_int_t count = json_integer_value(json_object_get(message, "count"));
    if (send_queue_acknowledge(&l->out, count >= 0 ? (uint64_t)count : UINT64_MAX)) {
        link_rewatch(l, 0);
        return;
    }
    (void)error_set(&why, link_end_code(l),
                    "the other side acknowledges messages that it was not sent");
    link_fail(l, &why);
}

/* Takes one whole frame after another. A frame that is not JSON, or too large, ends the link; a
 * part of one stays in the buffer. */
void link_take_messages(struct link *l) {
    while (!link_is_gone(l)) {
        struct error why;
        cleanup_json json_t *message = NULL;
        int got = frame_take(&l->in, &message, &why);
        if (got == 0)
            return;
        l->taken += got > 0;
        if (got < 0)
            link_fail(l, &why);
        else if (frame_version(message) == FRAME_VERSION)
            take_message(l, message);
        else
            take_foreign(l, message);
    }
}

/* Frames that arrive steadily are acknowledged together with our own, so that neither side is woken
 * for that; others once many of them are kept at the other side. */
static void acknowledge(struct link *l, bool sends) {
    const uint64_t frames = l->taken - l->acknowledged;
    if (l->ssl == NULL || (l->unacknowledged < ACKNOWLEDGE_SIZE &&
                           frames < (sends ? ACKNOWLEDGE_FRAMES : ACKNOWLEDGE_FRAMES_MAX)))
        return;
    l->acknowledged = l->taken;
    l->unacknowledged = 0;
    put(l, message_with(MESSAGE_TAKEN, json_pack("{s:I}", "count", (json_int_t)l->taken)));
}

/* Reads until nothing is left: TLS may hold decrypted bytes that the socket does not report again.
 * The buffer is made small afterwards, because a single large message would else keep its size for
 * the life of the link. */
void link_read_all(struct link *l) {
    char bytes[READ_SIZE];
    for (size_t got; !link_is_gone(l) && (got = receive(l, bytes, sizeof(bytes))) > 0;) {
        struct error why;
        l->unacknowledged += got;
        if (buf_add(&l->in, bytes, got, &why) != 0)
            link_fail(l, &why);
        link_take_messages(l);
    }
    buf_slim(&l->in);
    if (!link_is_gone(l))
        acknowledge(l, false);
}

/* A descriptor travels with the first byte of its message, so what is queued before it is sent
 * first. */
static ssize_t send_plain(struct link *l, const char *bytes, size_t size) {
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    if (l->gift < 0 || l->gift_at > 0)
        return send(l->watch.fd, bytes, l->gift < 0 ? size : l->gift_at, flags);
    ssize_t sent = passed_fds_send(l->watch.fd, bytes, size, &l->gift, 1, flags);
    if (sent > 0) {
        (void)close(l->gift);
        l->gift = -1;
    }
    return sent;
}

/* Returns how many bytes were taken; 0 if none now or the link has failed. OpenSSL may take a part
 * of them, and may be called again with another buffer (the modes in tls.c). */
static size_t send_piece(struct link *l, const char *bytes, size_t size) {
    size_t sent = 0;
    if (l->ssl == NULL) {
        ssize_t count = send_plain(l, bytes, size);
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            link_fail_by_errno(l);
        return count > 0 ? (size_t)count : 0;
    }
    ERR_clear_error();
    errno = 0;
    int result = SSL_write_ex(l->ssl, bytes, size, &sent);
    if (result != 1 && SSL_get_error(l->ssl, result) != SSL_ERROR_WANT_WRITE)
        link_fail_by_tls(l, result);
    return sent;
}

/* GIFT_AT counts down to the byte with which the descriptor goes. The loop ends when the socket
 * takes no more, and EPOLLOUT continues with the rest. */
void link_write_all(struct link *l) {
    const char *bytes;
    for (size_t size; (size = send_queue_ready(&l->out, &bytes)) > 0;) {
        size_t sent = send_piece(l, bytes, size);
        if (sent == 0)
            break;
        l->gift_at -= l->gift >= 0 ? sent : 0;
        send_queue_wrote(&l->out, sent);
    }
    if (!link_is_gone(l))
        link_rewatch(l, 0);
}

/* Data is read before a hang-up counts: a peer sends its last message and leaves. EPOLLOUT alone
 * means that there is nothing to read. */
static void ready(void *context, uint32_t events) {
    struct link *l = context;
    bool may_read = !l->open || events != EPOLLOUT;
    l->busy = true;
    if (!l->open)
        handshake(l);
    if (may_read && l->open && !link_is_gone(l))
        link_read_all(l);
    if (l->open && !link_is_gone(l) && (events & EPOLLOUT) != 0)
        link_write_all(l);
    l->busy = false;
    if (l->freed)
        link_destroy(l);
}

/* Only TCP knows such a time; on a unix socket nothing happens. */
void link_set_silence(struct link *l, int64_t seconds) {
    tcp_set_silence(l->watch.fd, seconds);
}

/* The deadline of the handshake begins here, and so includes the connecting. The silence that TCP
 * tolerates is short until the owner sets another. */
static int start_tls(struct link *l, SSL_CTX *tls, bool is_server, struct error *err) {
    tcp_tune(l->watch.fd);
    tcp_set_silence(l->watch.fd, LINK_SILENCE_SECONDS);
    l->ssl = SSL_new(tls);
    if (l->ssl == NULL || SSL_set_fd(l->ssl, l->watch.fd) != 1)
        return tls_error(err, EXIT_CODE_INTERNAL, "TLS");
    if (is_server)
        SSL_set_accept_state(l->ssl);
    else
        SSL_set_connect_state(l->ssl);
    loop_after(l->loop, &l->handshake, LINK_HANDSHAKE_SECONDS * CLOCK_SECOND);
    return 0;
}

/* A client waits for EPOLLOUT first, which tells that it is connected; a server waits for the
 * client's first bytes. */
struct link *link_new(struct loop *loop, int fd, SSL_CTX *tls, bool is_server,
                      const struct link_events *events, void *context, struct error *err) {
    struct link *l = calloc(1, sizeof(*l));
    if (l == NULL) {
        (void)close(fd);
        (void)error_no_memory(err, "a link");
        return NULL;
    }
    l->loop = loop;
    l->gift = -1;
    l->watch = (struct watch){.fd = fd, .ready = ready, .context = l};
    l->handshake = (struct timer){.fire = late, .context = l};
    l->events = events;
    l->context = context;
    l->open = tls == NULL;
    buf_init(&l->in, (size_t)FRAME_HEADER + FRAME_MAX + READ_SIZE);
    send_queue_init(&l->out, LINK_QUEUE_MAX, tls != NULL);
    int flags = fcntl(fd, F_GETFL);
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        (void)error_set_errno(err, EXIT_CODE_INTERNAL, "a link");
        goto failed;
    }
    if (tls != NULL && start_tls(l, tls, is_server, err) != 0)
        goto failed;
    if (loop_watch(loop, &l->watch, EPOLLIN | (l->open || is_server ? 0 : EPOLLOUT), err) != 0)
        goto failed;
    return l;
failed:
    link_destroy(l);
    return NULL;
}

/* Inside a callback only the watch and the timer go: the caller up the stack still uses the link,
 * and frees it when it comes back (ready()). */
void link_free(struct link *l) {
    if (l == NULL)
        return;
    l->freed = true;
    loop_cancel(l->loop, &l->handshake);
    loop_unwatch(l->loop, &l->watch);
    if (!l->busy)
        link_destroy(l);
}

/* May be called inside a callback of the old owner, as listener.c does. */
void link_own(struct link *l, const struct link_events *events, void *context) {
    l->events = events;
    l->context = context;
}

/* An acknowledgement that is due goes out with it, in the same write. */
void link_send(struct link *l, json_t *message) {
    if (l->open && !link_is_gone(l))
        acknowledge(l, true);
    put(l, message);
}

/* The descriptor is copied, as the caller may close its own before the socket takes it. Without a
 * copy, or with another one under way, the connection is shut down, and the loop reports the
 * end. */
void link_send_fd(struct link *l, json_t *message, int fd) {
    bool busy = l->gift >= 0;
    if (!busy)
        l->gift = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    l->gift_at = busy ? l->gift_at : send_queue_waiting(&l->out);
    if (busy || l->gift < 0)
        (void)shutdown(l->watch.fd, SHUT_RDWR);
    link_send(l, message);
}

/* May be called inside a callback: then only the outermost caller frees the link. */
void link_flush(struct link *l) {
    bool inside = l->busy;
    if (!l->open || l->held || link_is_gone(l))
        return;
    l->busy = true;
    link_write_all(l);
    l->busy = inside;
    if (l->freed && !inside)
        link_destroy(l);
}

/* `failed` keeps what happens from here on from the owner. */
void link_part(struct link *l, json_t *message) {
    link_send(l, message);
    l->failed = true; /* its owner gets no more callbacks */
    if (l->open)
        link_write_all(l);
    link_free(l);
}

/* By the socket, so on a host with several networks it is the one that the peer can reach. Unset if
 * the socket is closed. */
struct net_address link_own_address(const struct link *l) {
    struct sockaddr_storage own = {0};
    struct net_address address = {0};
    socklen_t size = sizeof(own);
    if (getsockname(l->watch.fd, (struct sockaddr *)&own, &size) == 0)
        (void)net_address_of((const struct sockaddr *)&own, &address);
    return address;
}

/* Plain links connect processes of one program, which have one version. */
int64_t link_peer_version(const struct link *l) {
    return l->ssl != NULL ? tls_peer_version(l->ssl) : FRAME_VERSION;
}

bool link_peer_exited(const struct link *l) {
    return l != NULL && l->exited;
}

size_t link_queued(const struct link *l) {
    return send_queue_waiting(&l->out);
}

/* In the order in which they came. What the owner does not take is closed with the link. */
int link_take_fd(struct link *l) {
    if (l->fd_count == 0)
        return -1;
    int fd = l->fds[0];
    l->fd_count--;
    memmove(l->fds, l->fds + 1, l->fd_count * sizeof(int));
    return fd;
}

/* A blocking socket takes all bytes at once, unless a signal comes; a short write is an error. */
int link_send_fds(int socket, const json_t *message, const int *fds, size_t count,
                  struct error *err) {
    cleanup_buf struct buf bytes;
    buf_init(&bytes, (size_t)FRAME_HEADER + FRAME_MAX);
    if (frame_put(&bytes, message, err) != 0)
        return -1;
    ssize_t sent = passed_fds_send(socket, bytes.data, bytes.size, fds, count, MSG_NOSIGNAL);
    if (sent < 0 || (size_t)sent != bytes.size)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "telling the supervisor");
    return 0;
}
