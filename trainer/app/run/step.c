#include "run/step.h"

#include "run/stop.h"

#include <math.h>
#include <string.h>

void step_say(const struct stepper *s, float flags[STORE_FLAGS]) {
    memset(flags, 0, STORE_FLAGS * sizeof(*flags));
    flags[FLAG_STOP] = stop_requested() ? 1 : 0;
    flags[FLAG_SAVE] = s->save ? 1 : 0;
    flags[FLAG_FAILED] = s->failed ? 1 : 0;
}

bool step_decays(const struct stepper *s, const struct store_slot *slot) {
    return slot->trained && (s->decay_all || slot->shape.rank > 1);
}

/* Whether the loss or the gradients were not finite, as far as the loss tells. */
static const char *what_is_bad(double loss) {
    return isfinite(loss) ? "a gradient" : "the loss";
}

static int count_bad_step(struct stepper *s, const struct backend_sgd_state *state, double loss,
                          double rate, struct error *err) {
    bool comes_down = state->loss_scale < s->loss_scale;
    s->bad_steps = comes_down ? 0 : s->bad_steps + 1;
    if (s->bad_steps < STEP_BAD_MAX)
        return 0;
    if (!s->was_finite && !isfinite(loss))
        return error_set(err, EXIT_CODE_CONFIG,
                         "training never began: the loss of the first %d steps was not finite; "
                         "look at the weights it started from (--init, or a checkpoint that it "
                         "goes on from: --resume none begins anew) and at the data",
                         s->bad_steps);
    if (isfinite(loss) && state->loss_scale > 1)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%d steps in a row changed nothing: gradients overflow at a fixed "
                         "--loss-scale of %g; give a smaller one, or --loss-scale-growth",
                         s->bad_steps, (double)state->loss_scale);
    return error_set(err, EXIT_CODE_CONFIG,
                     "training has diverged: in %d steps in a row %s was not finite at learning "
                     "rate %g; try a lower --lr or more --warmup-epochs",
                     s->bad_steps, what_is_bad(loss), rate);
}

int step_tell(struct stepper *s, const float *flags, const struct backend_sgd_state *state,
              double rate, struct step_outcome *ret, struct error *err) {
    double loss = (double)flags[FLAG_LOSS] / (double)flags[FLAG_IMAGES];
    bool applied = !(flags[FLAG_VOID] > 0), finite = state->finite;
    bool empty = applied && !(flags[FLAG_IMAGES] > 0);
    bool skipped = applied && (!finite || empty);
    *ret = (struct step_outcome){.known = true,
                                 .loss = loss,
                                 .stop = flags[FLAG_STOP] > 0,
                                 .save = flags[FLAG_SAVE] > 0,
                                 .failed = flags[FLAG_FAILED] > 0,
                                 .applied = applied,
                                 .skipped = skipped,
                                 .empty = empty};
    int result = applied && !finite ? count_bad_step(s, state, loss, rate, err) : 0;
    s->loss_scale = state->loss_scale;
    s->good_steps = state->good_steps;
    if (applied && !skipped) {
        s->bad_steps = 0;
        s->was_finite = true;
    }
    return result;
}

int step_resume_scale(struct stepper *s, float loss_scale, int good_steps, struct error *err) {
    struct backend_sgd_state state = {
        .finite = 1, .loss_scale = loss_scale, .good_steps = good_steps};
    struct backend *backend = s->net->backend;
    s->loss_scale = loss_scale;
    s->good_steps = good_steps;
    return backend->table->device == NULL
               ? 0
               : backend->table->device->set_sgd_state(backend, &state, err);
}

int step_penalty(struct stepper *s, double *ret, struct error *err) {
    struct store *store = &s->net->store;
    void *arena = NULL;
    double sum = 0;
    if (store_pull(store, STORE_PARAMETERS, &arena, err) != 0)
        return -1;
    const float *weights = arena;
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if (step_decays(s, slot))
            sum += sgd_square_sum(weights + slot->first, slot->count);
    }
    *ret = 0.5 * (double)s->sgd.weight_decay * sum;
    return 0;
}
