/* Callbacks of a link that do nothing.
 *
 * They are for tests that look at neither its messages nor its end. */
#ifndef TESTS_SUPPORT_QUIET_LINK_H
#define TESTS_SUPPORT_QUIET_LINK_H

#include "entrypoint/wire/link.h"

static inline void quiet_message(void *context, const json_t *message) {
    (void)context;
    (void)message;
}

static inline void quiet_end(void *context, const struct error *why) {
    (void)context;
    (void)why;
}

static const struct link_events quiet_link = {.message = quiet_message, .closed = quiet_end};

#endif
