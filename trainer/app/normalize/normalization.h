/* Mean and standard deviation that a network takes off its pictures: --mean and --std. */
#ifndef TRAINER_APP_NORMALIZE_NORMALIZATION_H
#define TRAINER_APP_NORMALIZE_NORMALIZATION_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/dataset.h"
#include "trainer/data/dataset/dataset_part.h"

#include <stdbool.h>

enum { NORMALIZATION_PICTURES = 10000 }; /* that --mean data looks at, at most */

struct normalization {
    double mean[3]; /* of pixels from 0 to 1 */
    double std[3];
};

/* Parses "R,G,B": pixels from 0 to 1, or from 0 to 255 if one of them is above 1. OPTION names it
 * in errors, which are EXIT_CODE_USAGE. */
int normalization_parse(const char *option, const char *text, double ret[3], struct error *err);

/* Checks --mean and --std before the set is opened, the SYNTHETIC one or another. */
int normalization_check(const struct options *options, bool synthetic, struct error *err);

/* Collective. As --mean and --std say; for `data`, of the pictures of SET, a sample of them that
 * is the same for every number of ranks. */
int normalization_find(const struct options *options, struct comm *comm, const struct dataset *set,
                       const struct dataset_part *part, struct normalization *ret,
                       struct error *err);

#endif
