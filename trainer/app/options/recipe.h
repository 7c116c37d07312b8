/* Ready sets of flags for a training, by name: --recipe NAME. They lie above the defaults of the
 * flags and those of the network, and below what the command line says. */
#ifndef TRAINER_APP_OPTIONS_RECIPE_H
#define TRAINER_APP_OPTIONS_RECIPE_H

#include "common/error.h"
#include "trainer/models/model.h"

#include <stdio.h>

struct recipe {
    const char *name;
    unsigned tasks;                       /* enum model_task */
    const char *help;                     /* where it comes from */
    const struct model_setting *settings; /* flag NULL ends them */
};

/* NULL with an error (EXIT_CODE_USAGE) that names those that there are. */
const struct recipe *recipe_need(const char *name, struct error *err);
/* What it says of FLAG; NULL where nothing. */
const char *recipe_value(const struct recipe *recipe, const char *flag);

/* The flags that a preset of Mask R-CNN sets (models/detect_preset.h), below those of a recipe: how
 * weights of its kinds decay. NULL where it sets none. */
const struct model_setting *recipe_of_preset(const char *name);

/* One line each of those that are for one of TASKS. */
void recipe_print(FILE *out, unsigned tasks);

#endif
