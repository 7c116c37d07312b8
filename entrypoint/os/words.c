#include "entrypoint/os/words.h"

static void put(void *context, const char *line, size_t size) {
    const struct words *w = context;
    console_word(w->to, line, size);
}

void words_open(struct words *w, struct loop *loop, int fd, struct console *out) {
    *w = (struct words){.to = out};
    if (!outlet_same(fd, out->outlet.fd)) {
        console_init(&w->own, loop, fd);
        w->to = &w->own;
    }
    w->before = log_set_sink((struct log_sink){put, w});
}

void words_close(struct words *w, int64_t deadline) {
    if (w->to == NULL)
        return;
    (void)log_set_sink(w->before);
    console_flush(w->to, deadline);
    console_done(&w->own);
    *w = (struct words){0};
}
