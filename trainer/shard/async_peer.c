#include "trainer/shard/async_peer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Calls for one worker before the others have their turn. */
enum { TURNS_MAX = 16 };

/* No run has more steps or updates: what is computed of them does not overflow. */
static const int64_t NUMBER_MAX = (int64_t)1 << 48;

int async_peer_open(struct async_peer *p, int fd, size_t share_bytes, struct error *err) {
    *p = (struct async_peer){.fd = fd, .size = share_bytes, .values = malloc(share_bytes + 1)};
    return p->values != NULL ? 0 : error_no_memory(err, "a worker's gradients");
}

void async_peer_done(struct async_peer *p) {
    free(p->values);
    *p = (struct async_peer){.fd = -1};
}

static size_t values_of(const struct async_peer *p) {
    return p->request.kind == ASYNC_DEAL || p->request.kind == ASYNC_PUSH ? p->size : 0;
}

static bool is_number(int64_t number) {
    return number >= 0 && number <= NUMBER_MAX;
}

static int check(const struct async_peer *p, struct error *err) {
    const struct async_request *r = &p->request;
    if (r->kind == 0 || r->kind >= ASYNC_KINDS)
        return error_set(err, EXIT_CODE_INTERNAL, "it sends a request of kind %u",
                         (unsigned)r->kind);
    if (!is_number(r->clock) || !is_number(r->updates))
        return error_set(err, EXIT_CODE_INTERNAL,
                         "it sends step %" PRId64 " after %" PRId64 " updates, which no run has",
                         r->clock, r->updates);
    return 0;
}

static int ended(ssize_t count, struct error *err) {
    if (count == 0 || errno == EPIPE || errno == ECONNRESET)
        return error_set(err, EXIT_CODE_INTERNAL, "it has closed its connection");
    return error_set_errno(err, EXIT_CODE_INTERNAL, "its connection");
}

/* Returns 1 once the request is whole, 0 if more has to come. */
static int hear(struct async_peer *p, struct error *err) {
    const size_t head = sizeof(p->request);
    for (int i = 0; i < TURNS_MAX; i++) {
        const size_t whole = p->moved < head ? head : head + values_of(p);
        if (p->moved == whole)
            return 1;
        char *to = p->moved < head ? (char *)&p->request + p->moved : p->values + (p->moved - head);
        const ssize_t count = recv(p->fd, to, whole - p->moved, 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (count <= 0)
            return ended(count, err);
        p->moved += (size_t)count;
        if (p->moved == head && check(p, err) != 0)
            return -1;
    }
    return p->moved == head + values_of(p) && p->moved >= head;
}

static int tell(struct async_peer *p, struct error *err) {
    for (int i = 0; i < TURNS_MAX; i++) {
        struct iovec left[ASYNC_PEER_PIECES];
        struct msghdr message = {.msg_iov = left};
        size_t done = p->moved;
        for (int k = 0; k < p->piece_count; k++) {
            const struct iovec *piece = &p->pieces[k];
            const size_t skip = done < piece->iov_len ? done : piece->iov_len;
            done -= skip;
            if (skip < piece->iov_len)
                left[message.msg_iovlen++] =
                    (struct iovec){(char *)piece->iov_base + skip, piece->iov_len - skip};
        }
        if (message.msg_iovlen == 0)
            return 1;
        const ssize_t count = sendmsg(p->fd, &message, MSG_NOSIGNAL);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (count < 0)
            return ended(count, err);
        p->moved += (size_t)count;
    }
    return 0;
}

/* A worker that waits sends nothing: what comes is its end. */
static int listen_for_end(struct async_peer *p, struct error *err) {
    char byte;
    const ssize_t count = recv(p->fd, &byte, 1, MSG_PEEK);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return count <= 0 ? ended(count, err)
                      : error_set(err, EXIT_CODE_INTERNAL, "it sends while it waits");
}

int async_peer_move(struct async_peer *p, struct error *err) {
    if (p->state == ASYNC_PEER_HAS)
        return listen_for_end(p, err);
    const int result = p->state == ASYNC_PEER_HEARS ? hear(p, err) : tell(p, err);
    if (result < 1)
        return result;
    if (p->state == ASYNC_PEER_HEARS)
        p->state = ASYNC_PEER_HAS;
    else
        async_peer_next(p);
    return 0;
}

void async_peer_next(struct async_peer *p) {
    p->state = ASYNC_PEER_HEARS;
    p->moved = 0;
}

void async_peer_tell(struct async_peer *p) {
    p->state = ASYNC_PEER_TELLS;
    p->moved = 0;
    p->pieces[0] = (struct iovec){&p->reply, sizeof(p->reply)};
    p->piece_count = 1;
}

void async_peer_add(struct async_peer *p, const void *bytes, size_t size) {
    p->pieces[p->piece_count++] = (struct iovec){(void *)(uintptr_t)bytes, size};
}

short async_peer_events(const struct async_peer *p) {
    return p->state == ASYNC_PEER_TELLS ? POLLOUT : POLLIN;
}
