/* A descriptor to write to that is perhaps shared with others and perhaps read by nobody: writing
 * here never waits.
 *
 * O_NONBLOCK belongs to the open file, which whoever gave us the descriptor shares with us: setting
 * it would change theirs. So a pipe or terminal is opened anew, which makes an open file of our
 * own; a socket is asked call by call. Where neither can be done (a pipe of another user's), it is
 * asked first whether it takes bytes, and given no more than a pipe then takes at once; a regular
 * file takes all. */
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

/* FD stays the caller's, and open for as long as the outlet is. */
void nonblocking_writer_open(struct nonblocking_writer *o, int fd);
void nonblocking_writer_close(struct nonblocking_writer *o);

/* As write(): how many bytes were taken, or -1; EAGAIN where it would have to wait. */
ssize_t nonblocking_writer_write(const struct nonblocking_writer *o, const char *bytes,
                                 size_t size);

/* How much of BYTES to write at once, so that lines of several writers do not mix: whole lines that
 * a pipe takes undivided, where they fit. */
size_t nonblocking_writer_piece(const char *bytes, size_t size);

/* Waits until DEADLINE at most for the outlet to take bytes. */
bool nonblocking_writer_wait(const struct nonblocking_writer *o, int64_t deadline);

/* For who has no loop: writes BYTES to FD, for NANOSECONDS at most; what does not go out by then is
 * lost. */
void nonblocking_writer_put(int fd, const char *bytes, size_t size, int64_t nanoseconds);

/* Do two descriptors lead to the same place? */
bool nonblocking_writer_same(int a, int b);

#endif
