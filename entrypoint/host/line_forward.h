/* Forwarding of ranks' lines to the master.
 *
 * With RINGMASTER_LOGS=master a host sends what its ranks print to the first host. Lines have the
 * lowest priority on the link: while too much waits to be sent, lines are dropped and counted, and
 * the next message says how many. */
#ifndef ENTRYPOINT_HOST_LINE_FORWARD_H
#define ENTRYPOINT_HOST_LINE_FORWARD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct line_forward {
    void (*send)(void *context, json_t *message); /* to the master; takes the reference */
    size_t (*queued)(void *context);              /* bytes that wait on the way there */
    void *context;
    uint64_t dropped; /* lines, since the last report to the master */
};

/* A line with its end. One that is longer than a message becomes several: the last ends with '\n'.
 */
void line_forward(struct line_forward *f, const char *line, size_t size);
/* After the last line: tells the master how many were dropped, if any. */
void line_forward_end(struct line_forward *f);

#endif
