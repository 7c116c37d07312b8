#include "entrypoint/os/log_console.h"

static void put(void *context, const char *line, size_t size) {
    const struct log_console *w = context;
    console_word(w->to, line, size);
}

void log_console_open(struct log_console *w, struct loop *loop, int fd, struct console *out) {
    *w = (struct log_console){.to = out};
    if (!nonblocking_writer_same(fd, out->writer.fd)) {
        console_init(&w->own, loop, fd);
        w->to = &w->own;
    }
    w->before = log_set_sink((struct log_sink){put, w});
}

void log_console_close(struct log_console *w, int64_t deadline) {
    if (w->to == NULL)
        return;
    (void)log_set_sink(w->before);
    console_flush(w->to, deadline);
    console_done(&w->own);
    *w = (struct log_console){0};
}
