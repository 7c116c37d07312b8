#include "entrypoint/wire/link_state.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* The way in which a connection ends is evidence. When a process ends, the kernel closes its
 * sockets in order, and the peer sees the end of the stream without a word of TLS. Every end that
 * this program chooses looks different: a farewell (close_notify), or a reset where none can be
 * sent. So a bare end means that the process is gone, and link_peer_exited() may say so. */

/* A reset discards what is still unsent. With a linger time of 0, close() sends RST instead of
 * FIN. */
static void reset_on_close(int fd) {
    const struct linger at_once = {.l_onoff = 1};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* Without it the end of the connection would look like the end of this process. A link that was
 * broken or lost a message gets a reset, since its stream of TLS records may be incomplete. The
 * queue of errors of OpenSSL belongs to the thread, so what others left in it is cleared. */
static void say_farewell(struct link *l) {
    if (l->ssl == NULL || !l->open)
        return;
    ERR_clear_error();
    if (l->broken || l->cut || SSL_shutdown(l->ssl) < 0)
        reset_on_close(l->watch.fd);
    ERR_clear_error();
}

/* Frees everything, and sends the farewell. Only for a link that is not inside one of its
 * callbacks. */
void link_destroy(struct link *l) {
    loop_cancel(l->loop, &l->handshake);
    loop_unwatch(l->loop, &l->watch);
    say_farewell(l);
    SSL_free(l->ssl);
    if (l->watch.fd >= 0)
        (void)close(l->watch.fd);
    for (size_t i = 0; i < l->fd_count; i++)
        (void)close(l->fds[i]);
    if (l->gift >= 0)
        (void)close(l->gift);
    buf_done(&l->in);
    send_queue_done(&l->out);
    free(l);
}

bool link_is_gone(const struct link *l) {
    return l->failed || l->freed;
}

void link_fail(struct link *l, const struct error *why) {
    if (link_is_gone(l))
        return;
    l->failed = true;
    loop_cancel(l->loop, &l->handshake);
    loop_unwatch(l->loop, &l->watch);
    l->events->closed(l->context, why);
}

/* Before the link is open the peer may be anybody, and after that it was a host of the job. */
enum exit_code link_end_code(const struct link *l) {
    return l->open ? EXIT_CODE_HOST_LOST : EXIT_CODE_NOT_READY;
}

void link_fail_by_errno(struct link *l) {
    struct error why;
    (void)error_set_errno(&why, link_end_code(l), "the link broke");
    link_fail(l, &why);
}

void link_fail_by_end(struct link *l) {
    struct error why;
    (void)error_set(&why, link_end_code(l), "the other side closed the link");
    link_fail(l, &why);
}

/* OpenSSL reports a bare end in two ways, by version and state: as an error with a reason of its
 * own, or as a failed system call with errno 0. During the handshake such an end proves nothing,
 * since a port scanner does the same. */
void link_fail_by_tls(struct link *l, int result) {
    int saved = errno;
    int kind = SSL_get_error(l->ssl, result);
    unsigned long number = ERR_peek_error();
    const bool bare =
        (kind == SSL_ERROR_SSL && ERR_GET_REASON(number) == SSL_R_UNEXPECTED_EOF_WHILE_READING) ||
        (kind == SSL_ERROR_SYSCALL && saved == 0);
    l->broken = kind != SSL_ERROR_ZERO_RETURN;
    if (kind == SSL_ERROR_ZERO_RETURN || bare) {
        ERR_clear_error();
        l->exited = bare && l->open && !l->cut;
        link_fail_by_end(l);
    } else if (kind == SSL_ERROR_SSL) {
        struct error why;
        enum exit_code code =
            l->open ? EXIT_CODE_HOST_LOST : tls_refusal(SSL_is_server(l->ssl), number);
        (void)tls_error(&why, code, l->open ? "the link broke" : "no ringmaster of this job");
        if (code == EXIT_CODE_KEY_REFUSED) /* the library's text for it is misleading */
            (void)error_set(&why, code, TLS_ANOTHER_KEY);
        link_fail(l, &why);
    } else {
        ERR_clear_error();
        errno = saved;
        link_fail_by_errno(l);
    }
}
