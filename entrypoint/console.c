#include "entrypoint/console.h"

#include "common/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>

/* A terminal may say that it has room and take nothing: asked again after this. */
static const int64_t retry_after = 50 * CLOCK_MILLISECOND;

static void tell_dropped(struct console *c) {
    char line[96];
    int size = snprintf(line, sizeof(line),
                        "[ringmaster] %llu lines dropped: this log is read too slowly\n",
                        (unsigned long long)c->dropped);
    if (buf_add(&c->queue, line, (size_t)size, NULL) == 0)
        c->dropped = 0;
}

/* False when nothing was taken. */
static bool write_piece(struct console *c) {
    ssize_t sent =
        outlet_write(&c->outlet, c->queue.data, outlet_piece(c->queue.data, c->queue.size));
    if (sent < 0 && errno != EINTR && errno != EAGAIN) {
        c->broken = true;
        c->queue.size = 0;
        return false;
    }
    if (sent > 0)
        buf_consume(&c->queue, (size_t)sent);
    if (c->queue.size == 0 && c->dropped > 0)
        tell_dropped(c);
    return sent > 0;
}

void console_push(struct console *c) {
    while (c->queue.size > 0 && write_piece(c))
        ;
}

static void rest(struct console *c) {
    loop_unwatch(c->loop, &c->watch);
    if (c->queue.size > 0)
        loop_after(c->loop, &c->retry, retry_after);
}

/* Plain files cannot be watched, and always take what they are given. */
static void await_room(void *context) {
    struct console *c = context;
    if (c->queue.size == 0 || loop_watch(c->loop, &c->watch, EPOLLOUT, NULL) == 0)
        return;
    console_push(c);
    rest(c);
}

static void ready(void *context, uint32_t events) {
    struct console *c = context;
    (void)events;
    if (c->queue.size == 0 || !write_piece(c) || c->queue.size == 0)
        rest(c);
}

void console_init(struct console *c, struct loop *loop, int fd) {
    *c = (struct console){.loop = loop};
    outlet_open(&c->outlet, fd);
    c->watch = (struct watch){.fd = c->outlet.fd, .ready = ready, .context = c};
    c->retry = (struct timer){.fire = await_room, .context = c};
    buf_init(&c->queue, CONSOLE_QUEUE_MAX);
}

void console_done(struct console *c) {
    if (c->loop == NULL)
        return;
    loop_unwatch(c->loop, &c->watch);
    loop_cancel(c->loop, &c->retry);
    outlet_close(&c->outlet);
    buf_done(&c->queue);
}

void console_line(struct console *c, const char *line, size_t size) {
    if (c->broken)
        return;
    if (c->dropped > 0 || buf_add(&c->queue, line, size, NULL) != 0) {
        c->dropped++;
        c->dropped_ever++;
    }
    if (!c->watch.active && !c->retry.active)
        await_room(c);
}

void console_flush(struct console *c, int64_t deadline) {
    while (c->queue.size > 0 && clock_left_ms(deadline) > 0 && outlet_wait(&c->outlet, deadline))
        if (!write_piece(c) && c->queue.size > 0)
            (void)poll(NULL, 0, (int)(retry_after / CLOCK_MILLISECOND));
}
