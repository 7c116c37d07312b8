/* Named sets of flags for a training: --recipe NAME. They override the defaults of the flags and
 * of the network; the command line overrides them. */
#ifndef TRAINER_APP_OPTIONS_RECIPE_H
#define TRAINER_APP_OPTIONS_RECIPE_H

#include "common/error.h"
#include "trainer/app/options/recipe_rows.h"
#include "trainer/models/model.h"

#include <stdio.h>

struct recipe {
    const char *name;
    unsigned tasks;                       /* enum model_task */
    const char *help;                     /* for --help */
    const char *source;                   /* of all numbers that have none of their own */
    const char *accuracy;                 /* that the source reports; NULL: none */
    int64_t images;                       /* a step, in the source's job; 0: not said */
    const struct model_setting *settings; /* ends with flag NULL */
    const struct recipe_source *sources;  /* NULL: none */
    const char *const *departures;        /* from the source; NULL: none */
    const struct recipe_rate *rates;      /* in place of lr and warmup-epochs; NULL: those count */
};

/* Returns the recipe NAME, or that in a file (recipe_file.h); NULL with an error (EXIT_CODE_USAGE)
 * that lists the known ones. */
const struct recipe *recipe_need(const char *name, struct error *err);
/* Returns the recipe's value for FLAG, or NULL. */
const char *recipe_value(const struct recipe *recipe, const char *flag);

/* Returns the row of RATES for IMAGES a step; NULL if RATES is NULL. */
const struct recipe_rate *recipe_rate_for(const struct recipe_rate *rates, int64_t images);

/* Returns the flags that a preset of Mask R-CNN sets (models/detect_preset.h), below those of a
 * recipe: weight decay by kind of weight. NULL if it sets none. */
const struct model_setting *recipe_of_preset(const char *name);

/* Returns the defaults that an optimizer brings, or NULL: its authors' or torch's. */
const struct model_setting *recipe_of_optimizer(const char *name);

/* Prints RECIPE as flags, one on a line, each with the source of its value after a '#'. */
void recipe_print_flags(FILE *out, const struct recipe *recipe);

/* Prints one line for each recipe that applies to one of TASKS. */
void recipe_print(FILE *out, unsigned tasks);

#endif
