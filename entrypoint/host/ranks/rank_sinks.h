/* Destinations of what the ranks of this container do and print. */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_SINKS_H
#define ENTRYPOINT_HOST_RANKS_RANK_SINKS_H

#include "entrypoint/wire/message.h"

#include <jansson.h>
#include <stddef.h>

struct rank_sinks {
    void (*send)(void *context, json_t *message); /* to the master; takes the reference */
    void (*line)(void *context, const char *line, size_t size);
    void *context;
};

/* Sends a message to the master with MEMBERS, which stay owned by the caller; NULL: none. */
void rank_sinks_send(const struct rank_sinks *sinks, enum message kind, const json_t *members);

#endif
