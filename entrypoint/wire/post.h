/* Messages from this process to itself: delivered one by one from the loop, in order, so that the
 * master's own host is told and heard like any other and no callback runs inside another. */
#ifndef WIRE_POST_H
#define WIRE_POST_H

#include "entrypoint/os/loop.h"

#include <jansson.h>

struct post {
    struct loop *loop;
    struct timer timer;
    json_t *queue; /* array */
    void (*deliver)(void *context, const json_t *message);
    void *context;
};

int post_init(struct post *p, struct loop *loop,
              void (*deliver)(void *context, const json_t *message), void *context,
              struct error *err);
void post_done(struct post *p);

/* Takes over the reference. NULL (out of memory) is dropped. */
void post_put(struct post *p, json_t *message);

#endif
