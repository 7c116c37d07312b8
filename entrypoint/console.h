/* This container's stdout, written without ever blocking: whole lines wait in a queue with a
 * ceiling; what does not fit is dropped, counted, and the count told in a line of its own. */
#ifndef ENTRYPOINT_CONSOLE_H
#define ENTRYPOINT_CONSOLE_H

#include "common/buf.h"
#include "entrypoint/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONSOLE_QUEUE_MAX = 1024 * 1024 };

struct console {
    struct loop *loop;
    struct watch watch;
    struct buf queue;
    uint64_t dropped; /* since the last line that told of them */
    uint64_t dropped_ever;
    bool broken; /* nobody reads any more */
};

/* FD stays the caller's. */
void console_init(struct console *c, struct loop *loop, int fd);
void console_done(struct console *c);

/* LINE ends with '\n'. */
void console_line(struct console *c, const char *line, size_t size);

/* For the end, outside the loop: writes what waits, for NANOSECONDS at most. */
void console_flush(struct console *c, int64_t nanoseconds);

#endif
