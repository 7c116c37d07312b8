#include "entrypoint/host/ranks/rank_saves.h"

#include "common/clock.h"
#include "entrypoint/host/ranks/rank_slot.h"

/* Limits a number from a program. */
static int64_t bounded(uint64_t number) {
    return number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

int64_t rank_saves_last(const struct rank_set *c, int64_t *ret_pause) {
    const int64_t now = clock_boot();
    int64_t last = 0;
    *ret_pause = 0;
    for (const struct rank_slot *s = c->slots; s != NULL; s = s->next) {
        const struct progress_state state = progress_read(&s->progress);
        const int64_t pause = bounded(state.pause_ns);
        const int64_t saved = bounded(state.saved_ns);
        *ret_pause = pause > *ret_pause ? pause : *ret_pause;
        last = saved > last && saved <= now ? saved : last;
    }
    return last;
}

void rank_saves_put(const struct rank_set *c, json_t *message) {
    int64_t pause = 0;
    const int64_t saved = rank_saves_last(c, &pause);
    if (saved == 0)
        return;
    (void)json_object_set_new(message, "attempt", json_integer(c->attempt));
    (void)json_object_set_new(
        message, "saved",
        json_pack("[I, I]", (json_int_t)(clock_boot() - saved), (json_int_t)pause));
}
