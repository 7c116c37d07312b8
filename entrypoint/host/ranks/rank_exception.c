#include "entrypoint/host/ranks/rank_exception.h"

#include "common/clock.h"

void rank_exception_init(struct rank_exception *e, const struct traceback_folders *folders) {
    *e = (struct rank_exception){.at = 0};
    traceback_init(&e->out, folders);
    traceback_init(&e->error_out, folders);
}

void rank_exception_take(struct rank_exception *e, bool error_out, const char *line, size_t size) {
    struct traceback *t = error_out ? &e->error_out : &e->out;
    traceback_add(t, line, size);
    if (traceback_last(t) != NULL && t->after == 0)
        e->at = clock_now();
}

bool rank_exception_text(const struct rank_exception *e, char ret[TRACEBACK_TEXT_SIZE]) {
    const struct traceback_exception *last = traceback_last(&e->error_out);
    if (last == NULL)
        last = traceback_last(&e->out);
    ret[0] = '\0';
    if (last != NULL)
        traceback_text(last->words, &last->frame, ret);
    return ret[0] != '\0';
}

bool rank_exception_is_last(const struct rank_exception *e, char ret[TRACEBACK_TEXT_SIZE]) {
    const struct traceback *streams[] = {&e->error_out, &e->out};
    ret[0] = '\0';
    for (size_t i = 0; i < 2 && ret[0] == '\0'; i++) {
        const struct traceback_exception *last = traceback_last(streams[i]);
        if (last != NULL && streams[i]->after == 0 && !last->of_thread)
            traceback_text(last->words, &last->frame, ret);
    }
    return ret[0] != '\0';
}

int64_t rank_exception_lasts(const struct rank_exception *e, int64_t now,
                             char ret[TRACEBACK_TEXT_SIZE]) {
    const int64_t ago = now - e->at;
    ret[0] = '\0';
    return ago >= RANK_EXCEPTION_LASTS_NS && rank_exception_text(e, ret) ? ago : 0;
}
