/* Progress of a set's ranks, as they report it (common/system/progress.h). */
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/ranks/rank_slot.h"

#include <stdio.h>

int rank_set_measure(const struct rank_set *c, struct buf *ret, struct error *err) {
    bool first = true;
    for (const struct rank_slot *s = c->slots; s != NULL; s = s->next) {
        char labels[32];
        struct progress_state state = progress_read(&s->progress);
        if (state.marks == 0)
            continue;
        (void)snprintf(labels, sizeof(labels), "rank=\"%u\"", s->rank);
        if (openmetrics_sample(ret, "ringmaster_rank_step", first ? "that the rank is at" : NULL,
                               labels, (double)state.step, err) != 0)
            return -1;
        first = false;
    }
    return 0;
}

uint64_t rank_set_step(const struct rank_set *c) {
    uint64_t furthest = 0;
    for (const struct rank_slot *s = c->slots; s != NULL; s = s->next) {
        struct progress_state state = progress_read(&s->progress);
        if (state.step > furthest)
            furthest = state.step;
    }
    return furthest;
}

static struct progress_state find_furthest(const struct rank_set *c, bool ended_too) {
    struct progress_state furthest = {0};
    for (const struct rank_slot *s = c->slots; s != NULL; s = s->next) {
        struct progress_state state = progress_read(&s->progress);
        if ((ended_too || !s->reported) && state.marks > 0 &&
            (furthest.marks == 0 || state.step > furthest.step))
            furthest = state;
    }
    return furthest;
}

struct progress_state rank_set_progress(const struct rank_set *c) {
    return find_furthest(c, false);
}

struct progress_state rank_set_progress_last(const struct rank_set *c) {
    return find_furthest(c, true);
}

/* Limits a number from a program to int64_t, which JSON holds. */
static json_int_t bounded(uint64_t number) {
    return number < INT64_MAX ? (json_int_t)number : INT64_MAX;
}

json_t *rank_set_pace(const struct rank_set *c) {
    enum { NANOSECONDS = 1000 };
    json_t *ranks = NULL;
    for (const struct rank_slot *s = c->slots; s != NULL; s = s->next) {
        struct progress_state state = progress_read(&s->progress);
        if (state.marks == 0 || s->reported)
            continue;
        if (ranks == NULL)
            ranks = json_array();
        (void)json_array_append_new(ranks, json_pack("[I, I, I, I]", (json_int_t)s->rank,
                                                     bounded(state.step),
                                                     bounded(state.work_ns / NANOSECONDS),
                                                     bounded(state.data_ns / NANOSECONDS)));
    }
    return ranks;
}
