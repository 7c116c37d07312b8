/* The program of the trials: a shell that does what the first setting says. Its metric is 10 for
 * "a" and 20 for "b"; for all others it has none. */
#ifndef TESTS_UNIT_COMMON_TRIALS_PROGRAM_H
#define TESTS_UNIT_COMMON_TRIALS_PROGRAM_H

#include "common/trials/trials_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static inline int program_argv(void *context, const struct trials_plan *plan, size_t config,
                               const char *folder, struct argv *ret, struct error *err) {
    struct trials_setting settings[TRIALS_AXES_MAX];
    trials_plan_config(plan, config, settings);
    (void)context;
    return argv_add(ret, "sh", err) != 0 || argv_add(ret, "-c", err) != 0 ||
                   argv_printf(ret, err,
                               "case %s in crash) kill -SEGV $$ ;; hang) exec sleep 1000 ;; esac; "
                               "printf %s >%s/value",
                               settings[0].value, settings[0].value, folder) != 0
               ? -1
               : 0;
}

static inline int program_trial(void *context, const struct trials_plan *plan,
                                const struct trials_number *n, const char *folder, struct argv *ret,
                                struct error *err) {
    return program_argv(context, plan, n->config, folder, ret, err);
}

static const struct trials_program PROGRAM = {
    .name = "a test", .use = "see", .trial = program_trial, .best = program_argv};

static inline void program_read(void *context, const char *folder, int code,
                                double figures[SLOTS_FIGURES]) {
    char path[128], value[16] = "";
    (void)context;
    (void)snprintf(path, sizeof(path), "%s/value", folder);
    FILE *file = code == 0 ? fopen(path, "r") : NULL;
    if (file != NULL) {
        value[fread(value, 1, sizeof(value) - 1, file)] = '\0';
        (void)fclose(file);
    }
    figures[TRIALS_METRIC] = strcmp(value, "a") == 0   ? 10
                             : strcmp(value, "b") == 0 ? 20
                                                       : (double)NAN;
    figures[TRIALS_RATE] = (double)NAN;
}

#endif
