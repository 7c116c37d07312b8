#include "entrypoint/console.h"

#include "common/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* A pipe that is ready takes at least PIPE_BUF bytes at once, so that no write blocks although the
 * descriptor, which others may share, is a blocking one. Whole lines where they fit. */
static size_t next_piece(const struct console *c) {
    if (c->queue.size <= PIPE_BUF)
        return c->queue.size;
    const char *end = memrchr(c->queue.data, '\n', PIPE_BUF);
    return end != NULL ? (size_t)(end - c->queue.data) + 1 : PIPE_BUF;
}

static void tell_dropped(struct console *c) {
    char line[96];
    int size = snprintf(line, sizeof(line),
                        "[ringmaster] %llu lines dropped: this log is read too slowly\n",
                        (unsigned long long)c->dropped);
    if (buf_add(&c->queue, line, (size_t)size, NULL) == 0)
        c->dropped = 0;
}

static void write_piece(struct console *c) {
    ssize_t sent = write(c->watch.fd, c->queue.data, next_piece(c));
    if (sent < 0 && errno != EINTR && errno != EAGAIN) {
        c->broken = true;
        c->queue.size = 0;
    }
    if (sent > 0)
        buf_consume(&c->queue, (size_t)sent);
    if (c->queue.size == 0 && c->dropped > 0 && !c->broken)
        tell_dropped(c);
}

static void ready(void *context, uint32_t events) {
    struct console *c = context;
    (void)events;
    write_piece(c);
    if (c->queue.size == 0)
        loop_unwatch(c->loop, &c->watch);
}

void console_init(struct console *c, struct loop *loop, int fd) {
    *c = (struct console){.loop = loop};
    c->watch = (struct watch){.fd = fd, .ready = ready, .context = c};
    buf_init(&c->queue, CONSOLE_QUEUE_MAX);
}

void console_done(struct console *c) {
    if (c->loop != NULL)
        loop_unwatch(c->loop, &c->watch);
    buf_done(&c->queue);
}

void console_line(struct console *c, const char *line, size_t size) {
    if (c->broken)
        return;
    if (c->dropped > 0 || buf_add(&c->queue, line, size, NULL) != 0) {
        c->dropped++;
        c->dropped_ever++;
    }
    if (c->watch.active)
        return;
    /* Plain files cannot be watched, and do not block either. */
    if (loop_watch(c->loop, &c->watch, EPOLLOUT, NULL) != 0)
        while (c->queue.size > 0)
            write_piece(c);
}

void console_flush(struct console *c, int64_t nanoseconds) {
    int64_t deadline = clock_now() + nanoseconds;
    while (c->queue.size > 0) {
        struct pollfd p = {.fd = c->watch.fd, .events = POLLOUT};
        int left = clock_left_ms(deadline);
        int count = poll(&p, 1, left);
        if (count > 0)
            write_piece(c);
        else if (count == 0 || errno != EINTR)
            return;
    }
}
