/* Callbacks of a link to its owner.
 *
 * The owner gives them with a context of its own, at first or when it takes the link over (link.h).
 * Each may free the link. */
#ifndef ENTRYPOINT_WIRE_LINK_EVENTS_H
#define ENTRYPOINT_WIRE_LINK_EVENTS_H

#include "common/error.h"

#include <jansson.h>

struct link_events {
    /* The peer has proved the key; nothing can be sent before. Plain links are open at once and
     * never call it. May be NULL. */
    void (*opened)(void *context);
    void (*message)(void *context, const json_t *message);
    /* A message of another version (frame.h), after which the callee ends the link. NULL: the link
     * closes with an error about that. */
    void (*foreign)(void *context, const json_t *message);
    /* Called once at the end of the link, unless it was freed before. The code is
     * EXIT_CODE_KEY_REFUSED for a ringmaster with another key, EXIT_CODE_NOT_READY for any other
     * end before `opened` (not a ringmaster, say), EXIT_CODE_CONFIG for a peer of another version,
     * EXIT_CODE_HOST_LOST for any other end after it. */
    void (*closed)(void *context, const struct error *why);
};

#endif
