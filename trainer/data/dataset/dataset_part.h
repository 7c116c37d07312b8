/* Part of a divided data set, as one host has it.
 *
 * Zeroed: each host has all of the set. */
#ifndef TRAINER_DATA_DATASET_DATASET_PART_H
#define TRAINER_DATA_DATASET_DATASET_PART_H

#include <stddef.h>

struct dataset_part {
    int parts;    /* at least 2; 0: the set is not divided */
    size_t first; /* number of the part's first sample in the set */
    size_t count; /* samples of the part */
    int ranks;    /* that have this part */
    int rank;     /* among these */
};

#endif
