/* The settings of recipes for classification (recipe_classify.c), for the table of recipes. */
#ifndef TRAINER_APP_OPTIONS_RECIPE_ROWS_H
#define TRAINER_APP_OPTIONS_RECIPE_ROWS_H

#include "trainer/models/model_types.h"

/* Where one number of a recipe comes from. */
struct recipe_source {
    const char *flag; /* NULL ends a list */
    const char *text;
};

extern const struct model_setting recipe_imagenet_90[], recipe_goyal[], recipe_aws_2018[],
    recipe_aws_dlami_256[], recipe_mlperf_resnet[], recipe_cifar_he[], recipe_flowers[];
extern const struct recipe_source recipe_goyal_sources[], recipe_aws_2018_sources[],
    recipe_aws_dlami_256_sources[], recipe_mlperf_resnet_sources[], recipe_cifar_he_sources[],
    recipe_flowers_sources[];

#endif
