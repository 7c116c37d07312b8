/* The score of a model on a data set: every image once, over all ranks. */
#ifndef TRAINER_APP_RUN_EVALUATE_H
#define TRAINER_APP_RUN_EVALUATE_H

#include "common/error.h"
#include "common/progress.h"
#include "common/status_line.h"
#include "trainer/app/run/eval_artifacts.h"
#include "trainer/app/step/network.h"
#include "trainer/app/task/class_tally.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"

#include <stdint.h>

struct evaluate_options {
    int threads;
    struct progress *progress;    /* marked at each batch */
    uint64_t step;                /* ...with this number */
    struct status_line *line;     /* shows how far it is */
    const struct task_tell *tell; /* of pictures without labels: what was found becomes files, and
                                     there are no figures; NULL: scores */
    struct class_tally *tally;    /* of a network that tells classes apart; NULL: none */
    struct eval_artifacts *findings; /* where rank 0 leaves what was found; NULL: nowhere */
};

/* The canvases on which DATA's batches lie, for a network that takes them. */
void evaluate_canvases(struct network_options *ret, const struct task_data *data);

/* On the validation set of DATA. All ranks together; running statistics are those in the store. */
int evaluate(struct network *net, struct comm *comm, struct task_data *data,
             const struct evaluate_options *o, struct evaluation *ret, struct error *err);

#endif
