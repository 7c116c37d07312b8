/* Part of a labelled set that is held out of the training.
 *
 * It is there to evaluate on. The same share of each class is drawn, by a seed and by the names of
 * class and file alone. Every host finds the same files, whatever else lies there. Files that are
 * added later move few of the others. */
#ifndef TRAINER_DATA_DATASET_HOLDOUT_H
#define TRAINER_DATA_DATASET_HOLDOUT_H

#include "common/error.h"
#include "trainer/data/dataset/dataset.h"

#include <stddef.h>
#include <stdint.h>

/* Moves SHARE (above 0 and below 1) of the samples of each class of SET, which has files, into the
 * empty RET: rounded, at least one, and never the last one of a class. Both have new hashes. RET
 * has the classes of SET; what was left out of the folder stays with SET. *RET_UNHELD, where not
 * NULL, becomes the number of classes of which nothing is held out, as they have one sample.
 *
 * EXIT_CODE_DATA: no class has two samples. */
int holdout_split(struct dataset *set, double share, uint64_t seed, struct dataset *ret,
                  size_t *ret_unheld, struct error *err);

#endif
