/* Destinations of what the ranks of this container do and print. */
#ifndef ENTRYPOINT_HOST_RANKS_CREW_SINKS_H
#define ENTRYPOINT_HOST_RANKS_CREW_SINKS_H

#include "entrypoint/wire/message.h"

#include <jansson.h>
#include <stddef.h>

struct crew_sinks {
    void (*tell)(void *context, json_t *message); /* to the master; takes the reference */
    void (*line)(void *context, const char *line, size_t size);
    void *context;
};

/* Sends a message to the master with MEMBERS, which stay owned by the caller; NULL: none. */
void crew_sinks_tell(const struct crew_sinks *sinks, enum message kind, const json_t *members);

#endif
