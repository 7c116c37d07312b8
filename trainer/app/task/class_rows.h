/* Results of an evaluation by class, as JSON. They are members of an object for the record of a
 * run:
 *
 *     "metric":"top1","rows":[["cat",20,0.85],...],"cells":[[0,1,3],...]
 *
 * A row has a class's name, its pictures (for detection its objects) and its result, null where
 * there is none, in the order of the classes. A cell, for classification among at most
 * CLASS_TALLY_PAIRS_OF classes, has the numbers of a class and of the class that the network takes
 * it for, and how many pictures; cells are the most frequent ones, at most CLASS_ROWS_CELLS, and
 * none has no pictures. */
#ifndef TRAINER_APP_TASK_CLASS_ROWS_H
#define TRAINER_APP_TASK_CLASS_ROWS_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/task/class_tally.h"

enum { CLASS_ROWS_CELLS = 4096 };

int class_rows_begin(struct buf *out, const char *metric, struct error *err);
/* NaN: there is no result. */
int class_rows_add(struct buf *out, const char *name, double count, double value,
                   struct error *err);
int class_rows_end(struct buf *out, struct error *err);

/* Appends all members for a classification. NAMES has one name for each class. */
int class_rows_of_tally(const struct class_tally *tally, char *const *names, struct buf *out,
                        struct error *err);

#endif
