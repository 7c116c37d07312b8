/* Plan of trials, from a JSON file of the user's: which configurations of a program are tried, and
 * how the best one is found.
 *
 *     {"flags": {"data": "pictures", "model": "resnet18", "epochs": 9},
 *      "grid": {"lr": [0.1, 0.4], "optimizer": ["sgd", "adamw"]},
 *      "metric": "top1", "goal": "max", "seeds": [0, 1], "ranks": 1,
 *      "halving": {"flag": "epochs", "rungs": [1, 3, 9], "factor": 3},
 *      "limit": 3600, "stall": 600}
 *
 * "grid" takes all combinations. In its place "random" draws COUNT configurations:
 *
 *     "random": {"count": 20, "seed": 1, "space": {"lr": {"log": [0.001, 1]},
 *                "momentum": {"uniform": [0.8, 0.99]}, "warmup-epochs": {"integer": [0, 5]},
 *                "schedule": ["cosine", "step"]}}
 *
 * Values are texts of flags. Unknown members are errors. Pure but for the file. */
#ifndef COMMON_TRIALS_TRIALS_PLAN_H
#define COMMON_TRIALS_TRIALS_PLAN_H

#include "common/error.h"
#include "common/trials/trials_member.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TRIALS_MAX = 4096, /* configurations */
    TRIALS_FLAGS_MAX = 64,
    TRIALS_AXES_MAX = 16,
    TRIALS_VALUES_MAX = 64,
    TRIALS_SEEDS_MAX = 32,
    TRIALS_RUNGS_MAX = 16,
    TRIALS_RANKS_MAX = 4096,
};

/* A flag and its value. */
struct trials_setting {
    char name[TRIALS_NAME_SIZE];
    char value[TRIALS_VALUE_SIZE];
};

enum trials_axis_kind { TRIALS_CHOICE, TRIALS_UNIFORM, TRIALS_LOG, TRIALS_INTEGER };

/* A flag that differs between configurations. */
struct trials_axis {
    char name[TRIALS_NAME_SIZE];
    enum trials_axis_kind kind;
    char (*values)[TRIALS_VALUE_SIZE]; /* owned; of a choice */
    size_t count;
    double low, high; /* of the others */
};

struct trials_plan {
    struct trials_setting flags[TRIALS_FLAGS_MAX]; /* of all configurations */
    size_t flag_count;
    struct trials_axis axes[TRIALS_AXES_MAX];
    size_t axis_count;
    bool random;
    uint64_t draw_seed; /* of random */
    size_t count;       /* configurations, 1 .. TRIALS_MAX */
    char metric[TRIALS_NAME_SIZE];
    bool smallest; /* the smallest value of the metric is best */
    int64_t seeds[TRIALS_SEEDS_MAX];
    size_t seed_count; /* 0: the program's own */
    int ranks;         /* of each trial */
    /* Halving: a configuration is tried with each rung's value of the flag, as long as it is among
     * the best 1/factor. Without it, one rung without a flag. */
    char rung_flag[TRIALS_NAME_SIZE];
    int64_t rungs[TRIALS_RUNGS_MAX];
    size_t rung_count; /* at least 1 */
    int factor;
    double limit, stall; /* seconds for a trial, and between two lines of its output */
    uint64_t hash;       /* of the file's bytes */
};

/* Errors have EXIT_CODE_CONFIG and name the file and what is wrong in it. */
int trials_plan_read(struct trials_plan *ret, const char *path, struct error *err);
/* The same from a value; WHERE names it. */
int trials_plan_parse(struct trials_plan *ret, const json_t *root, const char *where,
                      struct error *err);
void trials_plan_done(struct trials_plan *p);

/* Writes the settings of configuration AT, one an axis, to RET. */
void trials_plan_config(const struct trials_plan *p, size_t at,
                        struct trials_setting ret[TRIALS_AXES_MAX]);

#define cleanup_trials_plan __attribute__((cleanup(trials_plan_done)))

#endif
