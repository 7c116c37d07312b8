/* Top-1 accuracy by class: counts the pictures of each class whose best class, among equals the
 * first, is the true one. Reads the network's output "logits", f32 [N, classes]. */
#ifndef TRAINER_APP_TASK_CLASS_TALLY_H
#define TRAINER_APP_TASK_CLASS_TALLY_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/batch.h"

#include <stddef.h>

struct class_tally {
    size_t classes;
    double *sums;  /* owned; [2 * classes]: pictures of each class, then the correct ones */
    float *logits; /* owned; of one batch */
    size_t bytes;
};

int class_tally_open(struct class_tally *tally, size_t classes, struct error *err);
void class_tally_done(struct class_tally *tally);

int class_tally_add(struct class_tally *tally, const struct batch *batch,
                    const struct task_outputs *outputs, struct error *err);
/* Collective. */
int class_tally_sum(struct class_tally *tally, struct comm *comm, struct error *err);

/* Prints a table of the classes that have pictures, the worst first, at most CLASS_TALLY_SHOWN.
 * NAMES has one name for each class. */
enum { CLASS_TALLY_SHOWN = 20 };
int class_tally_print(const struct class_tally *tally, char *const *names, struct buf *out,
                      struct error *err);

#define cleanup_class_tally __attribute__((cleanup(class_tally_done)))

#endif
