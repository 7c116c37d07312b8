/* Interface of a task (classification, detection): its samples, how they become batches, how a
 * trained model is evaluated and described.
 *
 * A table of functions for each enum model_task; NULL where the default applies. It knows nothing
 * of a run: functions get all they need as arguments. */
#ifndef TRAINER_APP_TASK_TASK_H
#define TRAINER_APP_TASK_TASK_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/app/options/inputs.h"
#include "trainer/app/options/options.h"
#include "trainer/app/task/evaluation.h"
#include "trainer/app/task/sample_health.h"
#include "trainer/checkpoint/model_dir.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/picture_list.h"
#include "trainer/models/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct class_tally;

struct task_data {
    const struct task *task;
    const struct model *model;
    struct sample_health training;   /* empty if a model is scored */
    struct sample_health validation; /* empty: no evaluation */
    uint64_t hash; /* hash of the training set; ranks with other hashes have other sets */
    char *const *class_names; /* borrowed from `own` */
    size_t classes;
    const double *mean;  /* of the pixels of training pictures, borrowed from `own`, as is STD; */
    const double *std;   /* NULL: those of ImageNet */
    int64_t bad_given;   /* given pictures that are unusable: not among the samples */
    int64_t bad_allowed; /* limit of bad files in a set */
    struct model_objects objects; /* settings that a detection network needs */
    void *own;                    /* private to the task */
};

/* Input of task->open; all borrowed. */
struct task_request {
    const struct options *options;
    const struct inputs *inputs;
    struct comm *comm;
    const struct model *model;
    int image_size;
    const struct model_config *trained;  /* the model to score; NULL: train one */
    const struct picture_list *pictures; /* pictures without labels that TRAINED is applied to,
                                          * instead of a set to score on; NULL: none */
};

/* Outputs of the network for the last batch. */
struct task_outputs {
    const float *metrics; /* in the order of the model's list; zeros if it has none */
    size_t (*bytes)(void *user, const char *name); /* returns 0 if there is no such output */
    int (*read)(void *user, const char *name, void *ret_values, size_t bytes, struct error *err);
    void *user;
};

/* A picture of predictions, as a JPEG; valid only during the call. */
struct task_picture {
    int64_t id; /* of the sample, in its set */
    int height, width;
    const void *bytes;
    size_t size;
};

/* Which pictures to draw, and where they go. */
struct task_show {
    size_t count;       /* at most */
    uint64_t seed;      /* seed of the choice: the same pictures for the same set */
    double least_score; /* least score of drawn objects */
    int (*take)(void *user, const struct task_picture *picture, struct error *err);
    void *user;
};

/* Output of predictions. */
struct task_predictions {
    const char *folder;
    double least_score; /* least score of objects */
    size_t most;        /* number of classes per picture */
    bool png;           /* drawn pictures are PNGs; else JPEGs */
    const char *font;   /* for labels, tried before the system's; NULL: only the system's */
};

/* A recorded setting (task's `record`, or an option) that weights depend on: a run with another
 * value cannot resume. */
struct task_fixed {
    const char *option, *words; /* its name in the record; words for the error, "of --preset" */
    bool by_init;               /* --init determines it */
};

struct task {
    /* Collective. Opens the sets of a training, or the one that a model is scored on, and
     * determines how they become batches. RET is zeroed; call task_close in any case. */
    int (*open)(struct task_data *ret, const struct task_request *request, struct error *err);
    void (*close)(struct task_data *data);

    /* Describes a model trained on DATA, except for its name and weights. Texts are borrowed. */
    void (*describe)(const struct task_data *data, const struct task_request *request,
                     struct model_config *ret);

    /* Appends " NAME=VALUE" for settings that are recorded in addition to options. NULL: none. */
    int (*record)(const struct task_data *data, struct buf *out, struct error *err);
    const struct task_fixed *fixed; /* ends with a row without an option; NULL: none */
    bool init_counts_classes;       /* --init also determines the number of classes */
    const char *dropped;            /* name of the count of objects beyond the limits; NULL: none */

    /* An evaluation, batch by batch on each rank, which adds the scored pictures to *RET_IMAGES;
     * then all ranks together. NULL, all of them: means of the model's metrics, the loss last. */
    int (*score_open)(struct task_data *data, void **ret_score, struct error *err);
    int (*score_batch)(void *score, const struct batch *batch, const struct task_outputs *outputs,
                       int64_t *ret_images, struct error *err);
    int (*score_end)(void *score, struct comm *comm, struct evaluation *ret, struct error *err);
    void (*score_close)(void *score);

    /* Appends a table by class for people, on rank 0 after score_end. NULL: the task has none. */
    int (*score_table)(void *score, struct buf *out, struct error *err);

    /* Appends the results by class as members of a JSON object, on rank 0 after score_end
     * (class_rows.h). NULL: the task has none, or they come from a class_tally. */
    int (*score_classes)(void *score, struct buf *out, struct error *err);

    /* Evaluation artifacts, on rank 0 after score_end: detections as a file that replaces PATH,
     * and pictures drawn beside the ground truth. A picture that cannot be read is warned of and
     * left out. NULL, both: the task has none. */
    int (*score_write)(void *score, const char *path, struct error *err);
    int (*score_show)(void *score, const struct task_show *show, struct error *err);
    /* The same for the mistakes of TALLY, worst first. NULL: the task has none. */
    int (*mistakes_show)(const struct task_data *data, const struct class_tally *tally,
                         const struct task_show *show, struct error *err);

    /* The first pictures of a batch of the training set as the network gets them, with their
     * labels; their ids count from 1. SHOW->seed and least_score have no effect. */
    int (*batch_show)(const struct task_data *data, const struct batch *batch,
                      const struct task_show *show, struct error *err);

    /* Predictions for pictures without labels: score_open and score_batch find them, and instead of
     * score_end predictions_gather, collective, brings those of all ranks to rank 0, which writes
     * them to HOW->folder, which exists. predictions_check tests before the work, on rank 0, that
     * they can be written, without damaging existing files. */
    int (*predictions_check)(const struct task_data *data, const struct task_predictions *how,
                             struct error *err);
    int (*predictions_gather)(void *score, struct comm *comm, struct error *err);
    int (*predictions_write)(void *score, const struct task_predictions *how, struct error *err);

    /* Returns the name of metric I of an evaluation of MODEL; NULL after the last. */
    const char *(*figure)(const struct model *model, int i);
    /* Metrics that rank models: the first that an evaluation has is used; ends with NULL. */
    const char *best[3];

    /* Appends one or more lines for people, without the end of the last one. NULL: names and
     * values. */
    int (*print)(struct buf *out, double epoch, const struct evaluation *e, struct error *err);
    /* The columns of the table of all evaluations. */
    const struct metric_column *columns;
    /* Metrics of the steps that are columns of the table of a training. NULL: none. */
    const struct metric_column *row_columns;
};

extern const struct task TASK_CLASSIFY;
extern const struct task TASK_DETECT;

#endif
