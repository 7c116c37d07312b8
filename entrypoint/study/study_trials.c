#include "entrypoint/study/study_trials.h"

#include "common/file/file.h"
#include "common/trials/trials_lead.h"
#include "entrypoint/study/study_values.h"

#include <math.h>
#include <stdlib.h>

struct study {
    const struct study_words *words;
    struct trials_plan plan;
    struct trials_state state;
    struct folder_lock lock;
};

static int read_plan(struct study *s, struct error *err) {
    if (trials_plan_read(&s->plan, s->words->file, err) != 0)
        return -1;
    if (file_make_dirs(s->words->out, err) != 0)
        return error_wrap(err, "--out");
    return trials_lock(&s->lock, s->words->out, "ringmaster trials", err) != 0 ||
                   trials_state_open(&s->state, &s->plan, err) != 0
               ? -1
               : trials_state_read(&s->state, s->words->out, err);
}

static int add_settings(const struct trials_setting *list, size_t count, struct argv *ret,
                        struct error *err) {
    for (size_t i = 0; i < count; i++)
        if (argv_printf(ret, err, "--%s=%s", list[i].name, list[i].value) != 0)
            return -1;
    return 0;
}

/* The program with the flags of CONFIG, and the value of a rung's flag. */
static int add_config(const struct study *s, size_t config, size_t rung, const char *folder,
                      struct argv *ret, struct error *err) {
    const struct trials_plan *p = &s->plan;
    struct trials_setting settings[TRIALS_AXES_MAX];
    trials_plan_config(p, config, settings);
    if (study_words_program(s->words, NULL, folder, ret, err) != 0 ||
        add_settings(p->flags, p->flag_count, ret, err) != 0 ||
        add_settings(settings, p->axis_count, ret, err) != 0)
        return -1;
    return p->rung_count == 1
               ? 0
               : argv_printf(ret, err, "--%s=%lld", p->rung_flag, (long long)p->rungs[rung]);
}

static int trial_argv(void *context, const struct trials_plan *plan, const struct trials_number *n,
                      const char *folder, struct argv *ret, struct error *err) {
    if (add_config(context, n->config, n->rung, folder, ret, err) != 0)
        return -1;
    return plan->seed_count == 0
               ? 0
               : argv_printf(ret, err, "--seed=%lld", (long long)plan->seeds[n->seed]);
}

static int best_argv(void *context, const struct trials_plan *plan, size_t config,
                     const char *folder, struct argv *ret, struct error *err) {
    return add_config(context, config, plan->rung_count - 1, folder, ret, err);
}

/* CONTEXT is the plan's metric. */
static void read_figures(void *context, const char *folder, int code,
                         double figures[SLOTS_FIGURES]) {
    figures[TRIALS_METRIC] = code == 0 ? study_values_last(folder, context) : (double)NAN;
    figures[TRIALS_RATE] =
        code == 0 ? study_values_median(folder, "images_per_second") : (double)NAN;
}

static int lead(struct study *s, struct slots *slots, struct error *err) {
    const struct trials_program program = {.name = "ringmaster trials",
                                           .use = "its flags are in",
                                           .context = s,
                                           .trial = trial_argv,
                                           .best = best_argv};
    const struct trials_request request = {.program = &program,
                                           .state = &s->state,
                                           .file = s->words->file,
                                           .folder = s->words->out,
                                           .then_best = s->words->then_best};
    return trials_lead(&request, slots, err);
}

/* READ is rank 0's result of reading the plan. */
static int run(struct study *s, const struct slot_group *group, int read, struct error *err) {
    cleanup_slots struct slots slots = {0};
    /* The first rank of a slice looks for the metric. */
    if (group->broadcast(group->context, s->plan.metric, sizeof(s->plan.metric), err) != 0 ||
        slots_open(&slots, group, 1, err) != 0)
        return -1;
    slots.read = read_figures;
    slots.context = s->plan.metric;
    slots.foreign = true;
    if (group->rank > 0)
        return slots_serve(&slots, err);
    const int result = read == 0 ? lead(s, &slots, err) : -1;
    return slots_leave(&slots, result == 0 ? err : NULL) != 0 ? -1 : result;
}

int study_trials(const struct study_words *w, const struct slot_group *group, struct error *err) {
    struct study *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return error_no_memory(err, "trials");
    s->words = w;
    const int read = group->rank == 0 ? read_plan(s, err) : 0;
    const int result = run(s, group, read, read == 0 ? err : NULL);
    folder_lock_done(&s->lock);
    trials_state_done(&s->state);
    trials_plan_done(&s->plan);
    free(s);
    return result;
}
