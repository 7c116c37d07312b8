/* Connection of a parameter server to one worker. A request comes in, with values, and then a reply
 * goes out, over a nonblocking socket. One request at a time, so that memory is bounded. */
#ifndef TRAINER_SHARD_ASYNC_PEER_H
#define TRAINER_SHARD_ASYNC_PEER_H

#include "common/error.h"
#include "trainer/shard/async_wire.h"

#include <stddef.h>
#include <sys/uio.h>

enum async_peer_state {
    ASYNC_PEER_HEARS, /* a request is coming */
    ASYNC_PEER_HAS,   /* it is whole */
    ASYNC_PEER_TELLS, /* a reply is going out */
};

enum { ASYNC_PEER_PIECES = 5 };

struct async_peer {
    int fd; /* borrowed; -1: closed */
    enum async_peer_state state;
    struct async_request request;
    struct async_reply reply;
    char *values;                           /* owned; a share that has come, or goes out */
    size_t size;                            /* of that, bytes */
    size_t moved;                           /* bytes of the message under way */
    struct iovec pieces[ASYNC_PEER_PIECES]; /* of the reply */
    int piece_count;
};

int async_peer_open(struct async_peer *p, int fd, size_t share_bytes, struct error *err);
void async_peer_done(struct async_peer *p);

/* Moves what can be moved now. An end of the connection, and a request that no worker makes, are
 * errors. */
int async_peer_move(struct async_peer *p, struct error *err);
/* Waits for the next request, as that one needs no reply. */
void async_peer_next(struct async_peer *p);
/* Begins a reply with no values; async_peer_add adds some, which stay until it is sent. */
void async_peer_tell(struct async_peer *p);
void async_peer_add(struct async_peer *p, const void *bytes, size_t size);
/* What to poll for. */
short async_peer_events(const struct async_peer *p);

#endif
