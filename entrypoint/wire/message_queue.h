/* Queue of messages from this process to itself.
 *
 * They are delivered one by one from the loop, in order.
 *
 * The master's own host is thereby treated like any other, and no callback runs inside another. */
#ifndef ENTRYPOINT_WIRE_MESSAGE_QUEUE_H
#define ENTRYPOINT_WIRE_MESSAGE_QUEUE_H

#include "entrypoint/os/loop.h"

#include <jansson.h>

struct message_queue {
    struct loop *loop;
    struct timer timer;
    json_t *queue; /* array */
    void (*deliver)(void *context, const json_t *message);
    void *context;
};

int message_queue_init(struct message_queue *p, struct loop *loop,
                       void (*deliver)(void *context, const json_t *message), void *context,
                       struct error *err);
void message_queue_done(struct message_queue *p);

/* Takes over the reference. NULL (out of memory) is dropped. */
void message_queue_put(struct message_queue *p, json_t *message);

#endif
