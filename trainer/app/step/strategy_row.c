#include "trainer/app/step/strategy_row.h"

#include "common/clock.h"
#include "trainer/telemetry/timeline.h"

int strategy_wait(struct stepper *s, struct comm *comm, uint64_t ticket, struct error *err) {
    const int64_t begun = clock_now();
    if (comm_wait(comm, ticket, err) != 0)
        return -1;
    s->waited += clock_now() - begun;
    timeline_end(s->timeline, TIMELINE_RANKS, begun, s->number);
    return 0;
}

struct optimizer_arenas strategy_arenas(const struct stepper *s) {
    const struct store *store = &s->net->store;
    return (struct optimizer_arenas){.weights = store->arena[STORE_PARAMETERS],
                                     .gradients = step_gradients(s),
                                     .state = {.momentum = store->arena[STORE_MOMENTUM],
                                               .second = store->arena[STORE_SECOND],
                                               .average = store->arena[STORE_AVERAGE]}};
}

bool strategy_flags_finite(const struct stepper *s) {
    return optimizer_finite(step_gradients(s) + s->net->store.flags, STORE_FLAGS);
}

/* Adjacent parameters of one group are updated in one call, unless each has its own factor: the
 * padding between them is zero and stays zero. */
void strategy_apply(struct stepper *s) {
    const struct store *store = &s->net->store;
    const struct optimizer_arenas arenas = strategy_arenas(s);
    struct optimizer_step step = optimizer_at(s->rule.step, s->updates);
    if (s->rule.clip_norm > 0)
        step.scale *= optimizer_clip(&s->rule, step.scale,
                                     optimizer_square_sum(arenas.gradients, store->trained));
    for (int i = 0, next; i < store->slot_count; i = next) {
        const struct store_slot *slot = &store->slots[i], *last = slot;
        next = i + 1;
        if (!slot->trained)
            continue;
        const struct optimizer_group *group = &s->rule.groups[s->group_of[i]];
        for (; !group->adapts && next < store->slot_count && store->slots[next].trained &&
               s->group_of[next] == s->group_of[i];
             next++)
            last = &store->slots[next];
        optimizer_update_slice(&step, group, &arenas, slot->first,
                               last->first + last->count - slot->first);
    }
}

bool strategy_always_agrees(const struct stepper *s, enum store_arena arena) {
    (void)s, (void)arena;
    return true;
}
