/* The sets of a detector's data: to train on, to score on, and pictures without labels. */
#ifndef TRAINER_APP_TASK_DETECT_SETS_H
#define TRAINER_APP_TASK_DETECT_SETS_H

#include "trainer/data/coco/coco_index.h"
#include "trainer/data/detect/bucket_plan.h"
#include "trainer/data/detect/detection_groups.h"
#include "trainer/data/detect/detection_set.h"
#include "trainer/data/detect/detection_source.h"
#include "trainer/data/detect/picture_index.h"
#include "trainer/data/draw/draw_names.h"
#include "trainer/eval/mask_paste.h"
#include "trainer/models/detect_rules.h"

#include <limits.h>
#include <stdbool.h>

struct detect_part {
    char json[PATH_MAX];
    char pictures[PATH_MAX];
    struct coco_index index;
    struct detection_set set;
    struct detection_samples samples;
    struct detection_groups groups;
    struct detection_choice choice; /* the choice of their canvases, if sizes are random */
};

struct detect_data {
    struct detect_part training;
    struct detect_part validation;
    struct picture_index given; /* pictures without labels, which replace the validation set */
    struct bucket_plan plan;    /* of both */
    int preset;                 /* enum option_preset */
    struct detect_rules rules;  /* of the model, or of the preset */
    struct detect_sizes sizes;  /* of pictures */
    bool id_labels;             /* labels are category ids (detect_labels.h) */
    int64_t *category_ids;      /* owned; of labels 1, 2, ...; -1 for a label without a category */
    char **class_names;         /* owned; of labels 1, 2, ...; "" for a label without a category */
    struct draw_names names;    /* of the validation set, once pictures were drawn */
};

#endif
