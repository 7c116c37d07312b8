/* Each rank learns by its own gradients, and every so many steps all ranks take the mean of their
 * weights and of what the optimizer keeps of them (Stich, "Local SGD converges fast and
 * communicates little", 2019). With a mean after each step SGD's weights are those of an all-reduce
 * but for rounding, as its update is linear in the gradients.
 *
 * The flags are summed in each step, so that all ranks still learn of stops, failures and steps
 * that are not finite together: a few bytes instead of all gradients. */
#include "trainer/app/step/strategy_row.h"

static int open_local(struct stepper *s, struct error *err) {
    (void)err;
    s->rule.step.scale *= (float)comm_size(s->comm);
    return 0;
}

static int bucket(struct stepper *s, int index, struct error *err) {
    const struct store *store = &s->net->store;
    float *flags = step_gradients(s) + store->flags;
    if (index < s->pass->program.bucket_count - 1)
        return 0;
    s->unfit = optimizer_finite(step_gradients(s), store->flags) ? 0 : 1;
    if (comm_sum_start(s->comm, &s->unfit, 1, COMM_F32, &s->ticket, err) != 0)
        return -1;
    return comm_sum_start(s->comm, flags, STORE_FLAGS, COMM_F32, &s->ticket, err);
}

static int meet(struct stepper *s, bool *ret_finite, struct error *err) {
    if (strategy_wait(s, s->comm, s->ticket, err) != 0)
        return -1;
    *ret_finite = strategy_flags_finite(s) && !(s->unfit > 0);
    return 0;
}

static const enum store_arena ARENAS[] = {STORE_PARAMETERS, STORE_MOMENTUM, STORE_SECOND,
                                          STORE_AVERAGE};
enum { ARENA_COUNT = sizeof(ARENAS) / sizeof(ARENAS[0]) };

static int take_mean(struct stepper *s, struct error *err) {
    const struct store *store = &s->net->store;
    s->apart = 0;
    if (comm_size(s->comm) == 1)
        return 0;
    for (int i = 0; i < ARENA_COUNT; i++)
        if (store->arena[ARENAS[i]] != NULL &&
            comm_sum_start(s->comm, store->arena[ARENAS[i]], store->trained, COMM_F32, &s->ticket,
                           err) != 0)
            return -1;
    if (strategy_wait(s, s->comm, s->ticket, err) != 0)
        return error_wrap(err, "the mean of all ranks' weights");
    for (int i = 0; i < ARENA_COUNT; i++)
        if (store->arena[ARENAS[i]] != NULL)
            optimizer_divide(store->arena[ARENAS[i]], (float)comm_size(s->comm), store->trained);
    return 0;
}

static int update(struct stepper *s, struct error *err) {
    strategy_apply(s);
    s->apart++;
    return s->apart >= s->sync_every ? take_mean(s, err) : 0;
}

static int collect(struct stepper *s, struct error *err) {
    if (s->apart == 0)
        return 0;
    if (take_mean(s, err) != 0)
        return -1;
    store_changed(&s->net->store);
    return 0;
}

static bool agrees(const struct stepper *s, enum store_arena arena) {
    return s->apart == 0 || arena == STORE_CONSTANTS;
}

const struct strategy STRATEGY_LOCAL_SGD_ROW = {.open = open_local,
                                                .bucket = bucket,
                                                .meet = meet,
                                                .update = update,
                                                .collect = collect,
                                                .agrees = agrees};
