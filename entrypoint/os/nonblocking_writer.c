#include "entrypoint/os/nonblocking_writer.h"

#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_MAX = 64 * 1024 }; /* part of a line too long for any pipe to take whole */

void nonblocking_writer_open(struct nonblocking_writer *o, int fd) {
    struct stat st;
    *o = (struct nonblocking_writer){.fd = fd};
    if (fstat(fd, &st) != 0)
        return;
    o->socket = S_ISSOCK(st.st_mode);
    if (!S_ISFIFO(st.st_mode) && !isatty(fd))
        return;
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0)
        return;
    o->fd = own;
    o->own = true;
}

void nonblocking_writer_close(struct nonblocking_writer *o) {
    if (o->own)
        (void)close(o->fd);
    *o = (struct nonblocking_writer){.fd = -1};
}

/* A closed descriptor counts as ready, so that the write reports the error. */
static bool takes(const struct nonblocking_writer *o, int milliseconds) {
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};
    return poll(&p, 1, milliseconds) > 0;
}

ssize_t nonblocking_writer_write(const struct nonblocking_writer *o, const char *bytes,
                                 size_t size) {
    if (o->socket)
        return send(o->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (o->own)
        return write(o->fd, bytes, size);
    if (!takes(o, 0)) {
        errno = EAGAIN;
        return -1;
    }
    return write(o->fd, bytes, size < PIPE_BUF ? size : PIPE_BUF);
}

size_t nonblocking_writer_piece(const char *bytes, size_t size) {
    if (size <= PIPE_BUF)
        return size;
    const char *end = memrchr(bytes, '\n', PIPE_BUF);
    if (end != NULL)
        return (size_t)(end - bytes) + 1;
    size_t most = size < PIECE_MAX ? size : PIECE_MAX;
    end = memchr(bytes, '\n', most);
    return end != NULL ? (size_t)(end - bytes) + 1 : most;
}

bool nonblocking_writer_wait(const struct nonblocking_writer *o, int64_t deadline) {
    do {
        if (takes(o, clock_left_ms(deadline)))
            return true;
    } while (clock_now() < deadline); /* interrupted by a signal */
    return false;
}

void nonblocking_writer_put(int fd, const char *bytes, size_t size, int64_t nanoseconds) {
    int64_t deadline = clock_now() + nanoseconds;
    struct nonblocking_writer o;
    nonblocking_writer_open(&o, fd);
    /* A terminal may report room and still take no bytes. */
    while (size > 0 && clock_now() < deadline && nonblocking_writer_wait(&o, deadline)) {
        ssize_t sent = nonblocking_writer_write(&o, bytes, nonblocking_writer_piece(bytes, size));
        if (sent < 0 && errno != EINTR && errno != EAGAIN)
            break;
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
        }
    }
    nonblocking_writer_close(&o);
}

bool nonblocking_writer_same(int a, int b) {
    struct stat one;
    struct stat other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}
