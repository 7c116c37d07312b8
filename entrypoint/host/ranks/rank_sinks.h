/* Destinations of what the ranks of this container do and print. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_SINKS_H
#define ENTRYPOINT_HOST_RANKS_RANK_SINKS_H

#include "entrypoint/wire/message.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct rank_sinks {
    void (*send)(void *context, json_t *message); /* to the master; takes the reference */
    void (*line)(void *context, const char *line, size_t size);
    void *context;
};

/* Sends a message to the master with MEMBERS, which stay owned by the caller; NULL: none. */
static inline void rank_sinks_send(const struct rank_sinks *sinks, enum message kind,
                                   const json_t *members) {
    json_t *message = message_new(kind);
    if (message != NULL && members != NULL)
        (void)json_object_update(message, (json_t *)(uintptr_t)members);
    sinks->send(sinks->context, message);
}

#endif
