/* Nonblocking writer of one of the container's output streams.
 *
 * It has two bounded queues: the launcher's own lines, which go first, and lines of programs. When
 * there is no more room the oldest lines of programs are dropped. Dropped lines are counted, and
 * the count is printed at the gap and at the end.
 *
 * If the stream is a file on a full disk, writing is retried every second, and lines wait
 * meanwhile.
 *
 * A reader that takes at least CONSOLE_READER_LEAST bytes a second always gets the outcome of the
 * job, however much programs print: the outcome comes first, then the end of what they printed. */
#ifndef ENTRYPOINT_OS_CONSOLE_H
#define ENTRYPOINT_OS_CONSOLE_H

#include "common/buf.h"
#include "common/log/log.h"
#include "common/log/status_line.h"
#include "entrypoint/os/line_splitter.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/os/nonblocking_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONSOLE_QUEUE_MAX = 2 * LINE_SPLITTER_MAX, /* of programs' lines */
    CONSOLE_WORDS_MAX = 256 * 1024,            /* of our own */
    CONSOLE_READER_LEAST = 16 * 1024,
    CONSOLE_LAST_LINES = 4 * 1024, /* of what waits at the end so much is tried yet */
};

/* Whole lines, of which the first may have gone in part. */
struct console_queue {
    struct buf bytes;
    bool begun; /* the first one has */
};

struct console {
    struct loop *loop;
    struct nonblocking_writer writer;
    struct watch watch;
    struct timer retry;
    struct console_queue words;
    struct console_queue lines;
    uint64_t dropped; /* since the last line that counted them */
    uint64_t dropped_ever;
    int64_t printed_at;
    bool full;     /* the last write failed by what may pass: a disk without room, say */
    bool was_full; /* since the last line that counted dropped ones */
    bool broken;   /* nobody reads any more */
    bool terminal; /* it shows a status line */
    bool colour;
    bool shown; /* the status line is on the screen */
    char status[STATUS_LINE_BYTES];
    size_t status_size; /* 0: there is none */
};

/* FD stays the caller's. */
void console_init(struct console *c, struct loop *loop, int fd);
void console_done(struct console *c);

/* LINE, a program's, ends with '\n'. */
void console_line(struct console *c, const char *line, size_t size);
/* The same for our own messages, which should not wait for the loop's next turn: they are written
 * at once if possible, after the lines before them if these can be written, too. */
void console_word(struct console *c, const char *line, size_t size);
/* Lines that were dropped on their way here. */
void console_count_dropped(struct console *c, uint64_t lines);
/* Returns true if lines can be rewritten there. */
bool console_is_terminal(const struct console *c);
/* On a terminal: shows a bar and TEXT below all lines (common/log/status_line.h) until the next
 * call;
 * "" removes it. Lines come above it; while they wait it is not drawn. */
void console_status(struct console *c, double fraction, const char *text);
/* Bytes that wait. */
size_t console_waiting(const struct console *c);

/* For the end, outside the loop: writes what waits, until DEADLINE at most. The last seconds are
 * kept for our own messages and the last CONSOLE_LAST_LINES bytes of lines, as a reader of
 * CONSOLE_READER_LEAST needs them; the lines before are left out then, and one that was begun is
 * cut, with a mark. */
void console_flush(struct console *c, int64_t deadline);

/* Log output through a console while the loop runs. A reader that does not read the log therefore
 * cannot stop the loop. */
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
