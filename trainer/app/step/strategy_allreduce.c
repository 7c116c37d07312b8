/* Gradients are summed over all ranks, bucket by bucket while the backward pass continues, and each
 * rank makes the same update. */
#include "trainer/app/step/strategy_row.h"

/* The sum continues while the backward pass computes the next bucket. Buckets come in the same
 * order on all ranks, as collectives must. */
static int bucket(struct stepper *s, int index, struct error *err) {
    const struct bucket *b = &s->pass->program.buckets[index];
    return step_sum_start(s, step_gradients(s), b->first, b->count, &s->ticket, err);
}

/* The ticket is that of the last bucket: waiting for it is waiting for all before it (comm.h). From
 * here on all ranks have the same flags, and so the same idea of the step. */
static int meet(struct stepper *s, bool *ret_finite, struct error *err) {
    if (strategy_wait(s, s->comm, s->ticket, err) != 0)
        return -1;
    /* The loss is one of the flags after the gradients. */
    *ret_finite = optimizer_finite(step_gradients(s), s->net->store.count[STORE_GRADIENTS]);
    return 0;
}

/* All ranks have the same sums, so that they come to the same weights without further messages. */
static int update(struct stepper *s, struct error *err) {
    (void)err;
    strategy_apply(s);
    return 0;
}

const struct strategy STRATEGY_ALLREDUCE_ROW = {
    .bucket = bucket, .meet = meet, .update = update, .agrees = strategy_always_agrees};
