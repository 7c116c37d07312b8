/* Outgoing frames of a link that can be resumed over another connection.
 *
 * Frames are numbered from 0. The queue keeps what was written to the socket until the peer
 * acknowledges it, so that nothing is lost with a connection: after send_queue_rewind() it starts
 * again after the last frame that the peer has received. Fails at its maximum size. */
#ifndef ENTRYPOINT_WIRE_SEND_QUEUE_H
#define ENTRYPOINT_WIRE_SEND_QUEUE_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that may be written and unacknowledged; then writing waits for the peer. */
enum { SEND_QUEUE_WINDOW = 1024 * 1024 };

struct send_queue {
    struct buf bytes; /* whole frames: written ones, then those that wait */
    size_t written;   /* bytes of these */
    size_t max;       /* bytes that may wait */
    uint64_t first;   /* number of the first frame in `bytes` */
    uint64_t end;     /* number of the next frame to be added */
    bool keeps;       /* written frames until they are acknowledged */
};

/* MAX: bytes that may wait, besides the written ones. */
void send_queue_init(struct send_queue *q, size_t max, bool keeps);
void send_queue_done(struct send_queue *q);

int send_queue_put(struct send_queue *q, const json_t *message, struct error *err);

/* Returns how many bytes wait to be written; *RET gets those that may be written now. */
size_t send_queue_waiting(const struct send_queue *q);
size_t send_queue_ready(const struct send_queue *q, const char **ret);
/* Records that SIZE of these were written. */
void send_queue_wrote(struct send_queue *q, size_t size);

/* The peer has received all frames below COUNT, which may be an outdated number. Returns false if
 * that is impossible because they were not written. */
bool send_queue_acknowledge(struct send_queue *q, uint64_t count);
/* Likewise with the current number; the rest is sent anew over another connection. */
bool send_queue_rewind(struct send_queue *q, uint64_t count);

#endif
