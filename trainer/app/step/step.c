#include "trainer/app/step/step.h"

#include "common/system/stop_signal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What host and device steps have in common: where flags lie after the gradients, which parameters
 * form a group for the optimizer, and how the reduced flags become the outcome of a step.
 *
 * step_read_outcome is the only judge of a step. Host and device both call it, in the order of the
 * steps, and on all ranks with the same numbers, so that all ranks skip, stop and fail together. */

/* Loss and samples have fixed places, as every model has both. */
int step_flag_of(const struct model *model, int number) {
    if (model->metrics[number].name == NULL || !model->metrics[number].of_steps)
        return -1;
    return number == METRIC_LOSS      ? FLAG_LOSS
           : number == METRIC_SAMPLES ? FLAG_IMAGES
                                      : FLAG_MORE + number - (METRIC_SAMPLES + 1);
}

/* The gradients of all parameters, with the flags of the step after them: one sum over the ranks
 * carries both. */
float *step_gradients(const struct stepper *s) {
    return s->net->store.arena[STORE_GRADIENTS];
}

/* Gradients may travel in half precision, but flags do not, so a range with both is sent in two
 * parts. */
int step_sum_start(const struct stepper *s, float *gradients, size_t first, size_t count,
                   uint64_t *ret_ticket, struct error *err) {
    const size_t flags = s->net->store.flags;
    if (s->reduce_type == COMM_F32 || first + count <= flags)
        return comm_sum_start(s->comm, gradients + first, count, s->reduce_type, ret_ticket, err);
    /* Counts and the loss would lose their last digits. */
    if (comm_sum_start(s->comm, gradients + first, flags - first, s->reduce_type, ret_ticket,
                       err) != 0)
        return -1;
    return comm_sum_start(s->comm, gradients + flags, first + count - flags, COMM_F32, ret_ticket,
                          err);
}

/* Writes all flags, so that none is left over from the step before. */
void step_say(const struct stepper *s, float flags[STORE_FLAGS]) {
    memset(flags, 0, STORE_FLAGS * sizeof(*flags));
    flags[FLAG_STOP] = stop_signal_requested() ? 1 : 0;
    flags[FLAG_SAVE] = s->save ? 1 : 0;
    flags[FLAG_FAILED] = s->failed ? 1 : 0;
}

/* What the graph keeps beside each parameter, as bits of GRAPH_KEEPS_...: the momentum and the
 * second moment as the optimizer needs them, and the average of the weights. */
unsigned step_keeps(enum optimizer_kind kind, bool average) {
    const struct optimizer_row *row = optimizer_row(kind);
    return (row->keeps_momentum ? GRAPH_KEEPS_MOMENTUM : 0U) |
           (row->keeps_second ? GRAPH_KEEPS_SECOND : 0U) | (average ? GRAPH_KEEPS_AVERAGE : 0U);
}

/* Returns true if SLOT is a bias, and not one of a norm. A norm's shift is called "bias" as well; a
 * sibling "running_mean" gives it away. */
static bool is_bias(const struct store *store, const struct store_slot *slot) {
    const char *end = strrchr(slot->name, '.');
    char mean[TENSOR_NAME_SIZE + 16];
    if (end == NULL || strcmp(end, ".bias") != 0)
        return false;
    (void)snprintf(mean, sizeof(mean), "%.*s.running_mean", (int)(end - slot->name), slot->name);
    return store_find(store, mean) == NULL;
}

/* Bit 1 of the group: a bias; bit 0: without weight decay. */
static unsigned char group_of(const struct stepper *s, const struct store_slot *slot) {
    bool bias = is_bias(&s->net->store, slot);
    bool decays = s->decay_all || slot->shape.rank > 1 || (bias && s->decay_biases);
    return (unsigned char)((bias ? 2 : 0) + (decays ? 0 : 1));
}

/* LARC adapts the rate of every tensor, LARS only of those that decay. May be called again with
 * other numbers. */
int step_make_groups(struct stepper *s, float decay, float bias_rate, struct error *err) {
    const int kind = s->rule.step.kind;
    const struct store *store = &s->net->store;
    for (int i = 0; i < 4; i++)
        s->rule.groups[i] = (struct optimizer_group){
            .rate = i < 2 ? 1 : bias_rate,
            .decay = i % 2 == 0 ? decay : 0,
            .adapts = kind == OPTIMIZER_LARC || (kind == OPTIMIZER_LARS && i % 2 == 0)};
    if (s->group_of == NULL && (s->group_of = calloc((size_t)store->slot_count + 1, 1)) == NULL)
        return error_no_memory(err, "groups of parameters");
    for (int i = 0; i < store->slot_count; i++)
        s->group_of[i] = group_of(s, &store->slots[i]);
    return 0;
}

/* Names what was not finite, the loss or the gradients, as far as the loss tells. */
static const char *what_is_bad(double loss) {
    return isfinite(loss) ? "a gradient" : "the loss";
}

/* Counts a step that was not finite, and chooses the advice once there are STEP_BAD_MAX in a row. A
 * step that lowered the loss scale is the scale's way to find its value and does not count. */
static int count_bad_step(struct stepper *s, const struct backend_optimizer_state *state,
                          double loss, double rate, struct error *err) {
    bool comes_down = state->loss_scale < s->loss_scale;
    s->bad_steps = comes_down ? 0 : s->bad_steps + 1;
    if (s->bad_steps < STEP_BAD_MAX)
        return 0;
    if (!s->was_finite && !isfinite(loss))
        return error_set(err, EXIT_CODE_CONFIG,
                         "training never started: the loss of the first %d steps was not finite; "
                         "check the initial weights (--init, or the checkpoint that it resumes "
                         "from: --resume none starts over) and the data",
                         s->bad_steps);
    if (isfinite(loss) && state->loss_scale > 1)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%d steps in a row were skipped: gradients overflow at a fixed "
                         "--loss-scale of %g; give a smaller one, or --loss-scale-growth",
                         s->bad_steps, (double)state->loss_scale);
    return error_set(err, EXIT_CODE_CONFIG,
                     "training has diverged: in %d steps in a row %s was not finite at learning "
                     "rate %g; try a lower --lr or more --warmup-epochs%s",
                     s->bad_steps, what_is_bad(loss), rate,
                     isfinite(loss) && s->reduce_type == COMM_F32_AS_F16
                         ? ", or --reduce-dtype bf16, which has no limit at 65,504"
                         : "");
}

/* FLAGS are sums over all ranks and micro-batches. A step that a rank has given up is void on all
 * of them: it is neither applied nor skipped. A step without any sample is skipped, but does not
 * count as a bad one.
 *
 * A finite step ends the series of bad ones. What the optimizer counts is copied in any case, since
 * a bad step lowers the loss scale. */
int step_read_outcome(struct stepper *s, const float *flags,
                      const struct backend_optimizer_state *state, double rate,
                      struct step_outcome *ret, struct error *err) {
    /* NaN if no rank had a sample. */
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
    const struct model_metric *metric = s->net->model->metrics;
    for (int i = 0, flag; (flag = step_flag_of(s->net->model, i)) >= 0; i++)
        ret->metrics[i] = metric[i].kind == METRIC_SUM
                              ? (double)flags[flag]
                              : (double)flags[flag] / (double)flags[FLAG_IMAGES];
    int result = applied && !finite ? count_bad_step(s, state, loss, rate, err) : 0;
    s->loss_scale = state->loss_scale;
    s->good_steps = state->good_steps;
    s->updates = state->updates;
    if (applied && !skipped) {
        s->bad_steps = 0;
        s->was_finite = true;
    }
    return result;
}

/* On a device the scale is changed by its optimizer kernel, so its state is set there too. */
int step_resume(struct stepper *s, float loss_scale, int good_steps, int64_t updates,
                struct error *err) {
    struct backend_optimizer_state state = {
        .finite = 1, .loss_scale = loss_scale, .good_steps = good_steps, .updates = updates};
    struct backend *backend = s->net->backend;
    s->loss_scale = loss_scale;
    s->good_steps = good_steps;
    s->updates = updates;
    return backend->table->device == NULL
               ? 0
               : backend->table->device->set_optimizer_state(backend, &state, err);
}

/* The sum is taken on the host in double precision, slot by slot. */
int step_penalty(struct stepper *s, double *ret, struct error *err) {
    struct store *store = &s->net->store;
    void *arena = NULL;
    double sum = 0;
    if (store_pull(store, STORE_PARAMETERS, &arena, err) != 0)
        return -1;
    const float *weights = arena;
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        double decay = slot->trained ? (double)s->rule.groups[s->group_of[i]].decay : 0;
        if (decay > 0)
            sum += decay * optimizer_square_sum(weights + slot->first, slot->count);
    }
    *ret = 0.5 * sum;
    return 0;
}
