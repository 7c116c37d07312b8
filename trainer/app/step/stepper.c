#include "trainer/app/step/stepper.h"

#include "trainer/app/step/device_step.h"
#include "trainer/app/step/host_step.h"

#include <stdlib.h>

static const struct strategy *const STRATEGIES[OPTION_STRATEGIES] = {
    [OPTION_ALLREDUCE] = &STRATEGY_ALLREDUCE_ROW, [OPTION_SHARDED] = &STRATEGY_SHARDED_ROW,
    [OPTION_LOCAL_SGD] = &STRATEGY_LOCAL_SGD_ROW, [OPTION_PS_SYNC] = &STRATEGY_SHARDED_ROW,
    [OPTION_PS_ASYNC] = &STRATEGY_PS_ASYNC_ROW,
};

const struct strategy *strategy_of(enum option_strategy kind) {
    return STRATEGIES[kind];
}

/* The table of steps for the network's backend. */
static const struct stepper_table *table_of(const struct network *net) {
    return net->backend->table->device != NULL ? &DEVICE_STEP : &HOST_STEP;
}

static int check_strategy(const struct stepper *s, enum option_strategy strategy,
                          struct error *err) {
    if (s->table == &HOST_STEP || strategy == OPTION_ALLREDUCE)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "--strategy %s: a GPU's gradients are summed by allreduce alone; leave "
                     "--strategy out, or train on processors (--backend cpu)",
                     options_strategy_name(strategy));
}

static int check_reduce_type(const struct stepper *s, struct error *err) {
    if (s->device_sum == NULL || s->reduce_type == COMM_F32)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "--reduce-dtype %s: NCCL sums gradients in f32; leave it out, or give --comm "
                     "mpi or tcp, by which they go through host memory",
                     s->reduce_type == COMM_F32_AS_F16 ? "f16" : "bf16");
}

int stepper_open(struct stepper *s, struct network *net, struct comm *comm,
                 const struct stepper_options *o, struct error *err) {
    *s = (struct stepper){.table = table_of(net),
                          .net = net,
                          .pass = &net->train[0],
                          .comm = comm,
                          .accumulate = o->accumulate,
                          .rule = {.step = o->optimizer, .clip_norm = o->clip_norm},
                          .decay_all = o->decay_all,
                          .decay_biases = o->decay_biases,
                          .device_sum = o->device_sum,
                          .reduce_type = o->reduce_type,
                          .strategy = strategy_of(o->strategy),
                          .sync_every = o->sync_every,
                          .staleness = o->staleness,
                          .all = o->all != NULL ? o->all : comm,
                          .check_operators = o->check_operators,
                          .loss_scale = o->loss_scale > 0 ? o->loss_scale : 1};
    s->rule.step.scale = 1.0F / ((float)comm_size(comm) * (float)o->accumulate);
    if (step_make_groups(s, o->optimizer.weight_decay, o->bias_rate > 0 ? o->bias_rate : 1, err) !=
        0)
        return -1;
    return check_strategy(s, o->strategy, err) != 0 || check_reduce_type(s, err) != 0
               ? -1
               : s->table->open(s, err);
}

void stepper_done(struct stepper *s) {
    if (s->table != NULL)
        s->table->close(s);
    s->table = NULL;
    free(s->group_of);
    s->group_of = NULL;
}

int stepper_micro(struct stepper *s, const struct batch *batch, struct error *err) {
    struct pass *pass = network_pass(s->net, s->net->train, batch, err);
    if (pass == NULL)
        return -1;
    s->pass = pass;
    s->last_micro = batch->micro == s->accumulate - 1;
    return s->table->take_micro(s, batch, err);
}

int stepper_give_up(struct stepper *s, struct error *err) {
    s->gave_up = true;
    return s->table->give_step_up(s, err);
}

int stepper_finish(struct stepper *s, double rate, struct step_outcome *ret, struct error *err) {
    *ret = (struct step_outcome){0};
    s->rule.step.rate = (float)rate;
    const int result = s->table->finish_step(s, ret, err);
    s->penalty = false;
    s->save = false;
    return result;
}

int stepper_settle(struct stepper *s, struct step_outcome *ret, struct error *err) {
    *ret = (struct step_outcome){0};
    return s->table->settle_step != NULL ? s->table->settle_step(s, ret, err) : 0;
}

int stepper_collect(struct stepper *s, struct error *err) {
    return s->strategy->collect != NULL ? s->strategy->collect(s, err) : 0;
}

bool stepper_agrees(const struct stepper *s, enum store_arena arena) {
    return s->strategy->agrees(s, arena);
}
