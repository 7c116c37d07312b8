#include "entrypoint/os/pipe_reader.h"

#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    READ_SIZE = 16 * 1024,
    DRAIN_MAX =
        64, /* reads at the end; more than a pipe holds means that a process is still writing */
};

/* Returns false at the end of the pipe and if it is empty. */
static bool read_some(struct pipe_reader *t, bool *ret_ended) {
    char bytes[READ_SIZE];
    ssize_t got = read(t->watch.fd, bytes, sizeof(bytes));
    if (got > 0) {
        t->bytes += (uint64_t)got;
        line_splitter_feed(&t->lines, bytes, (size_t)got);
    }
    *ret_ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    return got > 0;
}

static void shut(struct pipe_reader *t) {
    line_splitter_end(&t->lines);
    line_splitter_done(&t->lines);
    loop_unwatch(t->loop, &t->watch);
    (void)close(t->watch.fd);
    t->watch.fd = -1;
    t->ended = clock_now();
}

static void ready(void *context, uint32_t events) {
    struct pipe_reader *t = context;
    bool ended = false;
    (void)events;
    (void)read_some(t, &ended);
    if (ended)
        shut(t);
}

int pipe_reader_open(struct pipe_reader *t, struct loop *loop, int fd, const char *prefix,
                     struct tail *tail, void (*emit)(void *context, const char *line, size_t size),
                     void *context, struct error *err) {
    *t = (struct pipe_reader){.loop = loop};
    t->watch = (struct watch){.fd = fd, .ready = ready, .context = t};
    line_splitter_init(&t->lines, prefix, tail, emit, context);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        (void)error_set_errno(err, EXIT_CODE_INTERNAL, "a program's output");
    else if (loop_watch(loop, &t->watch, EPOLLIN, err) == 0)
        return 0;
    pipe_reader_close(t);
    return -1;
}

void pipe_reader_drain(struct pipe_reader *t) {
    if (t->loop == NULL || t->watch.fd < 0)
        return;
    bool ended = false;
    for (int i = 0; i < DRAIN_MAX && read_some(t, &ended); i++)
        ;
    if (ended)
        shut(t);
    else
        line_splitter_end(&t->lines);
}

void pipe_reader_close(struct pipe_reader *t) {
    pipe_reader_drain(t);
    if (t->loop != NULL && t->watch.fd >= 0)
        shut(t);
}
