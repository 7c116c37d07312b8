/* Reader of a program's output pipe, which splits it into lines (line_splitter.h). */
#ifndef ENTRYPOINT_OS_PIPE_READER_H
#define ENTRYPOINT_OS_PIPE_READER_H

#include "entrypoint/os/line_splitter.h"
#include "entrypoint/os/loop.h"

#include <stdint.h>

struct pipe_reader {
    struct loop *loop;
    struct watch watch; /* fd -1: closed */
    struct line_splitter lines;
    uint64_t bytes; /* that were read so far */
    int64_t ended;  /* when no process had the other end any more, clock_now(); 0: not yet */
};

/* Takes over FD, also when it fails. */
int pipe_reader_open(struct pipe_reader *t, struct loop *loop, int fd, const char *prefix,
                     struct tail *tail, void (*emit)(void *context, const char *line, size_t size),
                     void *context, struct error *err);

/* Reads what is there now and emits a last line without end: for when the program has ended. Other
 * processes that hold the other end are still read. Closed already is fine. */
void pipe_reader_drain(struct pipe_reader *t);
/* The same, and closes. */
void pipe_reader_close(struct pipe_reader *t);

#endif
