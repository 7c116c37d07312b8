/* Writer to a descriptor that never blocks.
 *
 * That holds even if others share the descriptor, or no process reads it.
 *
 * O_NONBLOCK belongs to the open file, which is shared with the process that passed the descriptor
 * on: setting it would change that process's descriptor too. So a pipe or terminal is opened again,
 * which gives an open file of its own, and a socket is written with MSG_DONTWAIT. If neither is
 * possible (a pipe of another user), the writer polls the pipe first and writes no more than it can
 * then take at once. A regular file takes everything. */
#ifndef ENTRYPOINT_OS_NONBLOCKING_WRITER_H
#define ENTRYPOINT_OS_NONBLOCKING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nonblocking_writer {
    int fd; /* to watch for room */
    bool own;
    bool socket;
};

/* FD stays the caller's, and open for as long as the writer is. */
void nonblocking_writer_open(struct nonblocking_writer *o, int fd);
void nonblocking_writer_close(struct nonblocking_writer *o);

/* As write(): how many bytes were taken, or -1; EAGAIN where it would have to wait. */
ssize_t nonblocking_writer_write(const struct nonblocking_writer *o, const char *bytes,
                                 size_t size);

/* How much of BYTES to write at once, so that lines of several writers do not mix: whole lines that
 * a pipe takes undivided, where they fit. */
size_t nonblocking_writer_piece(const char *bytes, size_t size);

/* Waits until DEADLINE at most for the writer to take bytes. */
bool nonblocking_writer_wait(const struct nonblocking_writer *o, int64_t deadline);

/* For code without a loop: writes BYTES to FD within NANOSECONDS; bytes that are not written by
 * then are lost. */
void nonblocking_writer_put(int fd, const char *bytes, size_t size, int64_t nanoseconds);

/* Do two descriptors lead to the same place? */
bool nonblocking_writer_same(int a, int b);

#endif
