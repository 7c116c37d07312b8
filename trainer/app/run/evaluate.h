/* Evaluation of a model on a data set: each image is scored once, distributed over all ranks. */
#ifndef TRAINER_APP_RUN_EVALUATE_H
#define TRAINER_APP_RUN_EVALUATE_H

#include "common/buf.h"
#include "common/error.h"
#include "common/log/status_line.h"
#include "common/system/progress.h"
#include "trainer/app/run/eval_artifacts.h"
#include "trainer/app/step/network.h"
#include "trainer/app/task/class_tally.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"

#include <stdint.h>

struct evaluate_options {
    int threads;
    struct progress *progress; /* marked after each batch... */
    uint64_t step;             /* ...with this number */
    struct status_line *line;  /* displays the progress of the evaluation */
    const struct task_predictions
        *predictions;          /* for pictures without labels: predictions are written to
                                * files and there are no metrics; NULL: compute metrics */
    struct class_tally *tally; /* per-class counts of a classification network; NULL: none */
    struct buf *table;         /* rank 0 appends the task's table by class; NULL: not wanted */
    struct buf *classes;       /* rank 0 appends the results by class as members of a JSON object
                                * (task/class_rows.h); given on all ranks, or NULL on all */
    struct eval_artifacts *artifacts; /* rank 0 writes the artifacts there; NULL: nowhere */
};

/* Copies the canvases of DATA's batches to RET, for networks that have canvases. */
void evaluate_canvases(struct network_options *ret, const struct task_data *data);

/* Evaluates NET on the validation set of DATA. Collective; uses the running statistics in the
 * store. */
int evaluate(struct network *net, struct comm *comm, struct task_data *data,
             const struct evaluate_options *o, struct evaluation *ret, struct error *err);

#endif
