/* Log output through a console while the loop runs.
 *
 * A reader that does not read the log therefore cannot stop the loop. */
#ifndef ENTRYPOINT_OS_LOG_CONSOLE_H
#define ENTRYPOINT_OS_LOG_CONSOLE_H

#include "common/log/log.h"
#include "entrypoint/os/console.h"

struct log_console {
    struct console own;
    struct console *to;
    struct log_sink before;
};

/* Log lines go to FD from here on; through OUT, so that the order is kept, if that leads to the
 * same place. */
void log_console_open(struct log_console *w, struct loop *loop, int fd, struct console *out);
/* Writes what waits, until DEADLINE at most, and gives log lines back to where they went before.
 * Zeroed is fine. */
void log_console_close(struct log_console *w, int64_t deadline);

#endif
