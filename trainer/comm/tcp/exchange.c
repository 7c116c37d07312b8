#include "trainer/comm/tcp/exchange.h"

#include "common/binary/little_endian.h"
#include "common/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* One exchange is a loop: send and receive with every rank what its socket takes, then poll() for
 * those that are not through. Sockets are nonblocking, and no rank waits for one peer while another
 * could move, so the exchange cannot deadlock whatever the order of the ranks.
 *
 * With each peer, one message goes out and one comes in. A message is the head, if there is one,
 * and the part; both sizes are known to both sides beforehand, so nothing on the wire says where it
 * ends. A peer that runs ahead sends bytes of its next exchange, which stay in the socket until
 * this rank gets there. */

enum {
    HEAD_SIZE = 3 * 8, /* number, kind and size in little endian */
    TURNS_MAX = 16     /* calls for one socket before the others have their turn */
};

/* How far the messages with one rank are. */
struct exchange_state {
    unsigned char head_in[HEAD_SIZE]; /* as the other rank has sent it */
    size_t sent;                      /* of head and part together */
    size_t got;                       /* likewise */
};

/* One exchange under way. */
struct moving {
    struct rank_exchange *x;
    unsigned char head[HEAD_SIZE];
    size_t head_size; /* 0 without a head */
};

/* The memory grows with the number of ranks alone, and is allocated once for all exchanges. */
int exchange_init(struct rank_exchange *x, const struct mesh *mesh, struct error *err) {
    const size_t size = (size_t)mesh->size;
    *x = (struct rank_exchange){.mesh = mesh};
    x->parts = calloc(size, sizeof(*x->parts));
    x->states = calloc(size, sizeof(*x->states));
    x->polls = calloc(size, sizeof(*x->polls));
    if (x->parts == NULL || x->states == NULL || x->polls == NULL) {
        exchange_done(x);
        return error_no_memory(err, "exchange between ranks");
    }
    return 0;
}

void exchange_done(struct rank_exchange *x) {
    free(x->parts);
    free(x->states);
    free(x->polls);
    *x = (struct rank_exchange){0};
}

/* A closed connection and a reset one mean that the process at the other end has ended. Returns -1.
 */
static int lost(const struct mesh *mesh, int rank, int os_errno, struct error *err) {
    errno = os_errno;
    if (os_errno == 0 || os_errno == EPIPE || os_errno == ECONNRESET)
        return error_set(err, EXIT_CODE_INTERNAL, "%s has closed its connection: it has failed",
                         mesh_peer_text(mesh, rank));
    return error_set_errno(err, EXIT_CODE_INTERNAL, "connection to %s", mesh_peer_text(mesh, rank));
}

/* The two pieces of which a message consists, from byte DONE on; returns how many are left. Sending
 * both by one call saves a packet for the head. */
static int pieces(void *head, size_t head_size, void *part, size_t part_size, size_t done,
                  struct iovec ret[2]) {
    int count = 0;
    if (done < head_size)
        ret[count++] = (struct iovec){(char *)head + done, head_size - done};
    size_t at = done > head_size ? done - head_size : 0;
    if (at < part_size)
        ret[count++] = (struct iovec){(char *)part + at, part_size - at};
    return count;
}

/* Sends what the socket takes. Returns 1 once all is sent, 0 if it takes no more now. MSG_NOSIGNAL:
 * a peer that is gone is an error here, not a SIGPIPE. */
static int send_some(struct moving *m, int rank, struct error *err) {
    const struct comm_part *part = &m->x->parts[rank];
    struct exchange_state *s = &m->x->states[rank];
    struct iovec left[2];
    for (int i = 0; i < TURNS_MAX; i++) {
        struct msghdr message = {.msg_iov = left};
        message.msg_iovlen = (size_t)pieces(m->head, m->head_size, (void *)(uintptr_t)part->out,
                                            part->out_size, s->sent, left);
        if (message.msg_iovlen == 0)
            return 1;
        ssize_t count = sendmsg(m->x->mesh->peers[rank].fd, &message, MSG_NOSIGNAL);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (count < 0)
            return lost(m->x->mesh, rank, errno, err);
        s->sent += (size_t)count;
    }
    return 0;
}

/* Compares the heads byte by byte: number, kind and size have to be the same. Ranks that made
 * different calls would take each other's bytes for their own. */
static int check_head(const struct moving *m, int rank, struct error *err) {
    const unsigned char *own = m->head;
    const unsigned char *other = m->x->states[rank].head_in;
    if (memcmp(own, other, HEAD_SIZE) == 0)
        return 0;
    return error_set(err, EXIT_CODE_INTERNAL,
                     "ranks make different calls: rank %d call %" PRIu64 " of kind %" PRIu64
                     " and size %" PRIu64 ", %s call %" PRIu64 " of kind %" PRIu64
                     " and size %" PRIu64,
                     m->x->mesh->rank, little_endian_get(own, 8), little_endian_get(own + 8, 8),
                     little_endian_get(own + 16, 8), mesh_peer_text(m->x->mesh, rank),
                     little_endian_get(other, 8), little_endian_get(other + 8, 8),
                     little_endian_get(other + 16, 8));
}

/* Receives what is there. Returns 1 once all is here, 0 if more has to come. */
static int receive_some(struct moving *m, int rank, struct error *err) {
    const struct comm_part *part = &m->x->parts[rank];
    struct exchange_state *s = &m->x->states[rank];
    struct iovec left[2];
    for (int i = 0; i < TURNS_MAX; i++) {
        struct msghdr message = {.msg_iov = left};
        int count = pieces(s->head_in, m->head_size, part->in, part->in_size, s->got, left);
        if (count == 0)
            return 1;
        /* The head is looked at before anything is written over this rank's memory. */
        message.msg_iovlen = s->got < m->head_size ? 1 : (size_t)count;
        ssize_t got = recvmsg(m->x->mesh->peers[rank].fd, &message, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (got <= 0)
            return lost(m->x->mesh, rank, got == 0 ? 0 : errno, err);
        s->got += (size_t)got;
        if (m->head_size > 0 && s->got == m->head_size && check_head(m, rank, err) != 0)
            return -1;
    }
    return 0;
}

/* Moves what can be moved now and says in `polls` what has to be waited for. Returns how many ranks
 * are not through, -1 on error. A rank with nothing left to move gets a negative descriptor, which
 * poll() skips. */
static int move_all(struct moving *m, struct error *err) {
    const struct mesh *mesh = m->x->mesh;
    int open = 0;
    for (int i = 0; i < mesh->size; i++) {
        struct pollfd *p = &m->x->polls[i];
        *p = (struct pollfd){.fd = -1};
        if (i == mesh->rank)
            continue;
        int sent = send_some(m, i, err);
        int got = sent < 0 ? -1 : receive_some(m, i, err);
        if (got < 0)
            return -1;
        if (sent == 1 && got == 1)
            continue;
        *p = (struct pollfd){
            .fd = mesh->peers[i].fd,
            .events = (short)((sent == 1 ? 0 : POLLOUT) | (got == 1 ? 0 : POLLIN)),
        };
        open++;
    }
    return open;
}

/* Names one of the ranks that are awaited, and returns -1. */
static int stalled(const struct rank_exchange *x, struct error *err) {
    for (int i = 0; i < x->mesh->size; i++)
        if (x->polls[i].fd >= 0)
            return error_set(err, EXIT_CODE_STALLED, "%s did not answer in time",
                             mesh_peer_text(x->mesh, i));
    return error_set(err, EXIT_CODE_STALLED, "the other ranks did not answer in time");
}

/* After a failure some bytes have moved and others not, so the connections are of no more use. The
 * job ends with it. */
int exchange_run(struct rank_exchange *x, const struct exchange_head *head, int64_t deadline,
                 struct error *err) {
    const size_t size = (size_t)x->mesh->size;
    struct moving m = {.x = x, .head_size = head != NULL ? HEAD_SIZE : 0};
    if (head != NULL) {
        little_endian_put(m.head, head->number, 8);
        little_endian_put(m.head + 8, head->kind, 8);
        little_endian_put(m.head + 16, head->size, 8);
    }
    for (size_t i = 0; i < size; i++)
        x->states[i].sent = x->states[i].got = 0;
    int open;
    while ((open = move_all(&m, err)) > 0) {
        int left = clock_left_ms(deadline);
        if (left == 0)
            return stalled(x, err);
        if (poll(x->polls, (nfds_t)size, left) < 0 && errno != EINTR)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "waiting for the other ranks");
    }
    memset(x->parts, 0, size * sizeof(*x->parts));
    return open;
}
