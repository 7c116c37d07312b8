/* Variants of a job that one scaling report compares: their names, and the measurement of all of
 * them at a size. Each is a study of a chain (scaling.h); a job without variants is a chain of one
 * study without a name. */
#ifndef COMMON_SCALING_SCALING_VARIANTS_H
#define COMMON_SCALING_SCALING_VARIANTS_H

#include "common/error.h"
#include "common/scaling/scaling.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Zeroed it is empty. */
struct scaling_names {
    char list[SCALING_STUDIES_MAX][SCALING_VARIANT_SIZE];
    size_t count;
};

/* Adds the SIZE bytes at NAME, which begin with a letter or digit and have besides only "._-".
 * EXIT_CODE_USAGE, with the name of the OPTION, for others, for one that is there, and for too
 * many. */
int scaling_names_add(struct scaling_names *names, const char *name, size_t size,
                      const char *option, struct error *err);
/* Makes a chain of STUDIES, one a name, or one without a name. Returns how many. */
size_t scaling_names_chain(const struct scaling_names *names,
                           struct scaling_study studies[SCALING_STUDIES_MAX]);

/* A measurement of all variants at one size. */
struct scaling_size {
    int ranks;
    int hosts, on_one;  /* as of struct scaling_point */
    const char *folder; /* above FOLDER/ranks-N or FOLDER/VARIANT/ranks-N, where files lie */
    /* Runs the variant of STUDY and fills P, or its failure. -1: nothing more is measured. */
    int (*measure)(void *context, struct scaling_study *study, struct scaling_point *p,
                   const char *folder, struct error *err);
    void *context;
    bool any;            /* set: one of them was measured */
    char last[PATH_MAX]; /* set: the folder of the last one */
};

/* Measures all studies from FIRST on, and logs each. */
int scaling_size_measure(struct scaling_size *z, struct scaling_study *first, struct error *err);

#endif
