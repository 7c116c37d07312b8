/* The data of a network that finds objects: a COCO set to train on and one to score on, each laid
 * on a few canvases. */
#ifndef TRAINER_APP_TASK_DETECT_DATA_H
#define TRAINER_APP_TASK_DETECT_DATA_H

#include "common/error.h"
#include "trainer/app/task/task.h"
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
    struct detection_choice choice; /* of their canvases, where sizes are drawn */
};

struct detect_data {
    struct detect_part training;
    struct detect_part validation;
    struct picture_index given; /* pictures without labels: what is scored on then */
    struct bucket_plan plan;    /* of both */
    int preset;                 /* enum option_preset */
    struct detect_rules rules;  /* as the model has them, or the preset */
    struct detect_sizes sizes;  /* of pictures */
    bool id_labels;             /* a label is its category's id (detect_labels.h) */
    int64_t *category_ids;      /* owned; of labels 1, 2, ...; -1 where no category has one */
    char **class_names;         /* owned; of labels 1, 2, ...; what no category has is "" */
    struct draw_names names;    /* of the validation set, once pictures were shown */
};

/* As struct task has them. */
int detect_open(struct task_data *ret, const struct task_ask *ask, struct error *err);
void detect_close(struct task_data *data);
void detect_describe(const struct task_data *data, const struct task_ask *ask,
                     struct model_config *ret);

/* What a network of O has to know of a set that nobody has read: as described for one like COCO's,
 * trained from given weights. */
void detect_objects_unseen(struct model_objects *ret, const struct options *o);

/* How masks are pasted, */
enum mask_paste_rule detect_paste(const struct detect_data *d);
/* and whether boxes hold their last pixels. */
bool detect_last_pixel(const struct detect_data *d);

#endif
