/* Top-1 results of a classification network by class: accuracies, the most frequent confusions and
 * the worst mistakes. A picture's answer is its best class, among equals the first; NaN is none.
 * Reads the network's output "logits", f32 [N, classes]. */
#ifndef TRAINER_APP_TASK_CLASS_TALLY_H
#define TRAINER_APP_TASK_CLASS_TALLY_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/task/score.h"
#include "trainer/app/task/task.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/batch.h"
#include "trainer/data/dataset/source.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CLASS_TALLY_SHOWN = 20,      /* classes in the table */
    CLASS_TALLY_PAIRS = 10,      /* confusions */
    CLASS_TALLY_MISTAKES = 10,   /* pictures */
    CLASS_TALLY_PAIRS_OF = 1024, /* confusions are not counted among more classes */
};

/* A picture for which a wrong class is the best one. */
struct class_mistake {
    double probability; /* of the wrong class; 0: none here */
    int64_t sample;
    int32_t label, answer;
};

struct class_tally {
    size_t classes;
    double *sums;  /* owned; [2 * classes]: pictures of each class, then the correct ones */
    double *pairs; /* owned; [classes][classes]: pictures by class and answer; NULL: not counted */
    struct class_mistake mistakes[CLASS_TALLY_MISTAKES]; /* the most confident ones, best first */
    struct score_logits logits;
};

/* Without PAIRS no confusions are counted. */
int class_tally_open(struct class_tally *tally, size_t classes, bool pairs, struct error *err);
void class_tally_done(struct class_tally *tally);

int class_tally_add(struct class_tally *tally, const struct batch *batch,
                    const struct task_outputs *outputs, struct error *err);
/* Collective. */
int class_tally_sum(struct class_tally *tally, struct comm *comm, struct error *err);

/* Prints a table of the classes that have pictures, the worst first, then confusions and mistakes.
 * NAMES has one name for each class; SOURCE names the pictures. */
int class_tally_print(const struct class_tally *tally, char *const *names,
                      const struct source *source, struct buf *out, struct error *err);

#define cleanup_class_tally __attribute__((cleanup(class_tally_done)))

#endif
