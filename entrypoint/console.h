/* One of this container's streams, written without ever blocking: whole lines wait in a queue with
 * a ceiling; what does not fit is dropped, counted, and the count told in a line of its own. */
#ifndef ENTRYPOINT_CONSOLE_H
#define ENTRYPOINT_CONSOLE_H

#include "common/buf.h"
#include "entrypoint/loop.h"
#include "entrypoint/outlet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONSOLE_QUEUE_MAX = 1024 * 1024 };

struct console {
    struct loop *loop;
    struct outlet outlet;
    struct watch watch;
    struct timer retry;
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
/* Writes now what can be written now, for lines that should not wait for the loop's next turn. */
void console_push(struct console *c);

/* For the end, outside the loop: writes what waits, until DEADLINE at most. */
void console_flush(struct console *c, int64_t deadline);

#endif
