#include "trainer/app/trials/trials_job.h"

#include "common/file/file.h"
#include "trainer/app/options/options.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* Set for each trial. */
static const char *const OWN[] = {"model-dir", "checkpoint-dir", "log-dir", "tensorboard-dir",
                                  "out",       "resume",         "log",     NULL};

static bool same_flag(const char *a, const char *b) {
    for (; *a != '\0' || *b != '\0'; a++, b++)
        if ((*a == '_' ? '-' : *a) != (*b == '_' ? '-' : *b))
            return false;
    return true;
}

static bool has_flag(const struct trials_plan *p, const char *name) {
    for (size_t i = 0; i < p->flag_count; i++)
        if (same_flag(p->flags[i].name, name))
            return true;
    for (size_t i = 0; i < p->axis_count; i++)
        if (same_flag(p->axes[i].name, name))
            return true;
    return same_flag(p->rung_flag, name);
}

static int add_settings(const struct trials_plan *p, size_t config, struct argv *ret,
                        struct error *err) {
    struct trials_setting settings[TRIALS_AXES_MAX];
    trials_plan_config(p, config, settings);
    for (size_t i = 0; i < p->flag_count; i++)
        if (argv_printf(ret, err, "--%s=%s", p->flags[i].name, p->flags[i].value) != 0)
            return -1;
    for (size_t i = 0; i < p->axis_count; i++)
        if (argv_printf(ret, err, "--%s=%s", settings[i].name, settings[i].value) != 0)
            return -1;
    return 0;
}

static int add_budget(const struct trials_plan *p, size_t rung, struct argv *ret,
                      struct error *err) {
    return p->rung_count == 1
               ? 0
               : argv_printf(ret, err, "--%s=%lld", p->rung_flag, (long long)p->rungs[rung]);
}

static int add_program(struct argv *ret, struct error *err) {
    char program[PATH_MAX];
    return file_self(program, sizeof(program), err) != 0 || argv_add(ret, program, err) != 0
               ? -1
               : argv_add(ret, "train", err);
}

static int check_config(const struct trials_plan *p, size_t config, struct error *err) {
    struct options options;
    cleanup_argv struct argv argv = {0};
    if (add_settings(p, config, &argv, err) != 0 ||
        add_budget(p, p->rung_count - 1, &argv, err) != 0)
        return -1;
    return options_parse(&options, COMMAND_TRAIN, (int)argv.count, argv.items, err) == 0
               ? 0
               : error_wrap(err, "trial %zu", config);
}

int trials_job_check(const struct trials_plan *plan, struct error *err) {
    for (size_t i = 0; OWN[i] != NULL; i++)
        if (has_flag(plan, OWN[i]))
            return error_set(err, EXIT_CODE_CONFIG,
                             "\"%s\": each trial has its own; leave it out of the plan", OWN[i]);
    for (size_t i = 0; i < plan->count; i++)
        if (check_config(plan, i, err) != 0) {
            return error_recode(err, EXIT_CODE_CONFIG);
        }
    return 0;
}

int trials_job_argv(const struct trials_plan *plan, const struct trials_number *n,
                    const char *folder, int threads, struct argv *ret, struct error *err) {
    if (add_program(ret, err) != 0 || add_settings(plan, n->config, ret, err) != 0 ||
        add_budget(plan, n->rung, ret, err) != 0)
        return -1;
    if (plan->seed_count > 0 &&
        argv_printf(ret, err, "--seed=%lld", (long long)plan->seeds[n->seed]) != 0)
        return -1;
    if (!has_flag(plan, "threads") && argv_printf(ret, err, "--threads=%d", threads) != 0)
        return -1;
    return argv_printf(ret, err, "--model-dir=%s/model", folder) != 0 ||
                   argv_printf(ret, err, "--checkpoint-dir=%s/checkpoints", folder) != 0 ||
                   argv_printf(ret, err, "--log-dir=%s", folder) != 0
               ? -1
               : argv_add(ret, "--log=metrics", err);
}

int trials_job_train(const struct trials_plan *plan, size_t config, struct argv *ret,
                     struct error *err) {
    bool budget = plan->rung_count == 1;
    for (size_t i = 0; i < plan->flag_count; i++)
        budget = budget || same_flag(plan->flags[i].name, plan->rung_flag);
    return add_program(ret, err) != 0 || add_settings(plan, config, ret, err) != 0 ||
                   (!budget && add_budget(plan, plan->rung_count - 1, ret, err) != 0)
               ? -1
               : 0;
}
