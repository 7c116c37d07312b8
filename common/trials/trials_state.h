/* Results of trials so far, kept in a file.
 *
 * The file is replaced after each end, so that a killed run continues with what is missing.
 *
 * A configuration has a result for each rung that it came to and each seed. Its score on a rung is
 * the mean of the metric over the seeds; NaN if one of them failed. */
#ifndef COMMON_TRIALS_TRIALS_STATE_H
#define COMMON_TRIALS_TRIALS_STATE_H

#include "common/error.h"
#include "common/trials/trials_plan.h"

#include <stdbool.h>
#include <stddef.h>

enum { TRIALS_WHY_SIZE = 200 };

#define TRIALS_STATE_NAME "trials.json"

enum trials_outcome { TRIALS_MISSING, TRIALS_DONE, TRIALS_FAILED };

struct trials_result {
    enum trials_outcome outcome;
    double metric;             /* NaN: none, or not finite; then it failed */
    double rate;               /* samples a second; NaN: unknown */
    double seconds;            /* that it took */
    int code;                  /* exit code, 128 + a signal */
    char why[TRIALS_WHY_SIZE]; /* it failed; else "" */
};

struct trials_state {
    const struct trials_plan *plan; /* borrowed */
    struct trials_result *results;  /* owned; [rungs][configurations][seeds] */
    size_t seeds;                   /* at least 1 */
    /* Configurations on each rung, best of the rung before first; those of rung 0 in their order.
     */
    size_t *alive[TRIALS_RUNGS_MAX]; /* owned; NULL: the rung before is not complete */
    size_t alive_count[TRIALS_RUNGS_MAX];
};

int trials_state_open(struct trials_state *s, const struct trials_plan *plan, struct error *err);
void trials_state_done(struct trials_state *s);

struct trials_result *trials_state_at(const struct trials_state *s, size_t rung, size_t config,
                                      size_t seed);
/* A trial: a configuration with a seed on a rung. */
struct trials_number {
    size_t rung, config, seed;
};
/* Writes trials without a result to RET, at most ROOM, in the order in which they are to run.
 * Returns how many there are there. */
size_t trials_state_missing(const struct trials_state *s, struct trials_number *ret, size_t room);
/* Opens the next rung for each one that is complete. */
int trials_state_promote(struct trials_state *s, struct error *err);

double trials_state_score(const struct trials_state *s, size_t rung, size_t config);
/* The last rung that CONFIG has all results of; -1: none. */
int trials_state_rung(const struct trials_state *s, size_t config);
/* All configurations, best first: by the rung that they came to, then by their score there; those
 * that failed come last. RET has plan->count elements. */
void trials_state_ranking(const struct trials_state *s, size_t *ret);
/* The best configuration that has a score; -1: all failed. */
int trials_state_best(const struct trials_state *s);

/* Adds the results in FOLDER's file, if there is one. EXIT_CODE_CONFIG if they are of another plan,
 * or cannot be read. */
int trials_state_read(struct trials_state *s, const char *folder, struct error *err);
int trials_state_write(const struct trials_state *s, const char *folder, struct error *err);

#define cleanup_trials_state __attribute__((cleanup(trials_state_done)))

#endif
