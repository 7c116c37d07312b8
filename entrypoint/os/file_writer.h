/* Writer of files of lines, in a child process.
 *
 * A slow disk therefore never blocks the loop. The child is file_writer_process.h. Lines wait for
 * it in a bounded queue; a line that finds no room there is dropped and counted.
 *
 * The child is started with the first line and inherits no descriptor except its socket. Before all
 * children are killed it is ordered to finish: it then writes what it was given and ends. The next
 * line starts a new child. */
#ifndef ENTRYPOINT_OS_FILE_WRITER_H
#define ENTRYPOINT_OS_FILE_WRITER_H

#include "common/buf.h"
#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_writer_options {
    const char *base;   /* where it is not there, nothing is made */
    const char *folder; /* in it; both outlive the writer */
    size_t queue_max;   /* bytes */
    /* Why lines were not written, at most once a child. */
    void (*said)(void *context, const char *text);
    void *context;
};

struct file_writer {
    struct loop *loop; /* NULL: not open */
    struct reaper *reaper;
    struct file_writer_options options;
    struct child child; /* pid 0: none */
    struct watch watch; /* fd -1: none */
    struct timer wake;  /* of a new child: lines of a moment go together */
    struct buf queue;   /* whole frames */
    size_t sent;        /* bytes of it */
    uint64_t dropped;   /* lines, so far */
    bool full;          /* the socket is: the rest waits */
    bool resting;
};

void file_writer_open(struct file_writer *s, struct loop *loop, struct reaper *reaper,
                      const struct file_writer_options *options);
/* Ends the child, at once if it was ordered to finish, else within a second; returns false if it
 * had anything still to write. */
bool file_writer_close(struct file_writer *s);

/* LINE ends with '\n'; the rest as in log_file.h. False when it was dropped. */
bool file_writer_put(struct file_writer *s, const char *name, int64_t limit, const char *line,
                     size_t size);

/* The same, but TEXT becomes the whole file NAME, in place of what it held. */
bool file_writer_put_whole(struct file_writer *s, const char *name, const char *text, size_t size);

/* The child ends when it has written what waits. */
void file_writer_rest(struct file_writer *s);

#endif
