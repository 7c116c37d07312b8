/* How many pictures of each class a network tells right: its best class, the first of equals, is
 * theirs. Of its outputs it reads "logits", f32 [N, classes]. */
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
    double *sums;  /* owned; [2 * classes]: pictures of each class, then those that are right */
    float *logits; /* owned; of one batch */
    size_t bytes;
};

int class_tally_open(struct class_tally *tally, size_t classes, struct error *err);
void class_tally_done(struct class_tally *tally);

int class_tally_add(struct class_tally *tally, const struct batch *batch,
                    const struct task_outputs *outputs, struct error *err);
/* All ranks together. */
int class_tally_sum(struct class_tally *tally, struct comm *comm, struct error *err);

/* A table of the classes that have pictures, the worst first, of which CLASS_TALLY_SHOWN are shown;
 * NAMES has one for each class. */
enum { CLASS_TALLY_SHOWN = 20 };
int class_tally_print(const struct class_tally *tally, char *const *names, struct buf *out,
                      struct error *err);

#define cleanup_class_tally __attribute__((cleanup(class_tally_done)))

#endif
