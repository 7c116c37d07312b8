/* Side-by-side work of all ranks of a job, with one outcome.
 *
 * For `ringtrain prepare`, started as several ranks that share the target. */
#ifndef TRAINER_APP_COMMAND_PREPARE_PREPARE_RANKS_H
#define TRAINER_APP_COMMAND_PREPARE_PREPARE_RANKS_H

#include "common/error.h"
#include "trainer/comm/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prepare_ranks {
    struct comm *comm;
    bool lost; /* a rank is gone, or did not answer: there is no way to end together */
};

/* Writes how many ranks a launcher has started, without connecting them. */
int prepare_ranks_count(int *ret, struct error *err);
/* Connects them. */
int prepare_ranks_open(struct prepare_ranks *ret, struct error *err);
void prepare_ranks_close(struct prepare_ranks *ranks);

/* A step of the work, which RUN does; it has a thread of its own if there are several ranks. */
struct prepare_step {
    int (*run)(void *context, struct error *err);
    void *context;
    /* NULL: RUN cannot be ended early. Called once another rank has failed, perhaps often; RUN then
     * returns EXIT_CODE_STOPPED. */
    void (*stop)(void *context);
    /* NULL: nothing is reported. Rank 0 calls SHOW with the sum of what TELL returns on all ranks.
     */
    int64_t (*tell)(void *context);
    void (*show)(void *context, int64_t done);
    void *show_context;
};

/* Collective. Returns when all ranks have done their part, with the same outcome on each: the error
 * of the first rank that failed, with its name. */
int prepare_ranks_run(struct prepare_ranks *ranks, const struct prepare_step *step,
                      struct error *err);

/* Collective. Fails unless TEXT is the same on all ranks; WHAT names it. */
int prepare_ranks_agree(struct prepare_ranks *ranks, const char *what, const char *text,
                        struct error *err);
/* Collective. Gives all ranks the SIZE bytes of rank 0. */
int prepare_ranks_spread(struct prepare_ranks *ranks, void *bytes, size_t size, struct error *err);
/* Collective. Gives all ranks the sums over ranks of each of the COUNT numbers. */
int prepare_ranks_add(struct prepare_ranks *ranks, int64_t *numbers, size_t count,
                      struct error *err);

#endif
