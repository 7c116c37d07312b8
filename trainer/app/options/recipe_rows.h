/* The settings of recipes for classification (recipe_classify.c), for the table of recipes. */
#ifndef TRAINER_APP_OPTIONS_RECIPE_ROWS_H
#define TRAINER_APP_OPTIONS_RECIPE_ROWS_H

#include "trainer/models/model_types.h"

#include <stdint.h>

/* The source of one number of a recipe. */
struct recipe_source {
    const char *flag; /* NULL ends a list */
    const char *text;
};

/* The peak and the warm-up from so many images a step on, where the source of a recipe has them as
 * a function of that number. Rows rise; the first is for any number. */
struct recipe_rate {
    int64_t images;
    double lr; /* 0 ends a list */
    double warmup_epochs;
};

extern const struct model_setting recipe_imagenet_90[], recipe_goyal[], recipe_aws_2018[],
    recipe_aws_dlami_256[], recipe_mlperf_resnet[], recipe_cifar_he[], recipe_flowers[];
extern const struct recipe_source recipe_goyal_sources[], recipe_aws_2018_sources[],
    recipe_aws_dlami_256_sources[], recipe_mlperf_resnet_sources[], recipe_cifar_he_sources[],
    recipe_flowers_sources[];
/* A recipe's departures from its source, a line each; NULL ends a list. */
extern const char *const recipe_aws_2018_departures[], *const recipe_aws_dlami_256_departures[],
                                                           *const recipe_mlperf_resnet_departures[];
extern const struct recipe_rate recipe_mlperf_resnet_rates[];

#endif
