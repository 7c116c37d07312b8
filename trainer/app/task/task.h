/* What a run is about: which samples there are, how they become batches, what a trained model is
 * worth and what is to be known of it. A table of functions, one for each enum model_task; NULL
 * where the default will do. Nothing here knows of a run: what a function needs is handed in. */
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

struct task_data {
    const struct task *task;
    const struct model *model;
    struct sample_health training;   /* none where a model is scored */
    struct sample_health validation; /* none: no evaluation */
    uint64_t hash;            /* of the training set; ranks whose hashes differ have other sets */
    char *const *class_names; /* borrowed from `own` */
    size_t classes;
    int64_t bad_given;            /* pictures that are none: not among the samples */
    int64_t bad_allowed;          /* so many bad files of a set are skipped */
    struct model_objects objects; /* what a network that finds objects has to know */
    void *own;                    /* the task's */
};

/* All of it borrowed. */
struct task_ask {
    const struct options *options;
    const struct inputs *inputs;
    struct comm *comm;
    const struct model *model;
    int image_size;
    const struct model_config *trained;  /* the model that is scored; NULL: one is trained */
    const struct picture_list *pictures; /* that nobody has labelled, in place of a set to score
                                            TRAINED on; NULL: none */
};

/* What a network said of the batch that it has seen last. */
struct task_outputs {
    const float *metrics; /* in the order of the model's list; zeros where it tells none */
    size_t (*bytes)(void *user, const char *name); /* 0: there is no such output */
    int (*read)(void *user, const char *name, void *ret_values, size_t bytes, struct error *err);
    void *user;
};

/* A picture of what was found, as a JPEG; all of it lives during the call alone. */
struct task_picture {
    int64_t id; /* of the sample, in its set */
    int height, width;
    const void *bytes;
    size_t size;
};

/* Which pictures are asked for, and where they go. */
struct task_show {
    size_t count;       /* at most */
    uint64_t seed;      /* which: the same ones for the same set */
    double least_score; /* of what is painted */
    int (*take)(void *user, const struct task_picture *picture, struct error *err);
    void *user;
};

/* How predictions are told. */
struct task_tell {
    const char *folder;
    double least_score; /* of objects */
    size_t most;        /* classes of a picture */
    bool png;           /* painted pictures: JPEGs else */
    const char *font;   /* of their labels, before the system's; NULL: these alone */
};

/* Something recorded of a run (task's `record`, or an option) without which its weights mean
 * nothing: a run that has it otherwise does not go on. */
struct task_fixed {
    const char *option, *words; /* its name in the record; "of --preset" */
    bool by_init;               /* --init settles it */
};

struct task {
    /* Opens the sets of a training, or the one that a model is scored on, and settles how they
     * become batches; all ranks together. RET is zeroed; task_close in any case. */
    int (*open)(struct task_data *ret, const struct task_ask *ask, struct error *err);
    void (*close)(struct task_data *data);

    /* What is to be known of a model that was trained on DATA, but for its name and its weights.
     * Texts are borrowed. */
    void (*describe)(const struct task_data *data, const struct task_ask *ask,
                     struct model_config *ret);

    /* Adds " NAME=VALUE" of what is recorded beside the options. NULL: nothing. */
    int (*record)(const struct task_data *data, struct buf *out, struct error *err);
    const struct task_fixed *fixed; /* a row without an option ends the list; NULL: none */
    bool init_counts_classes;       /* their number follows from --init, too */
    const char *dropped;            /* the name of the count of what had no room; NULL: none */

    /* An evaluation, batch by batch, on each rank; *RET_IMAGES counts on those that were scored.
     * Then all ranks together. NULL, all of them: the
     * means of the model's metrics, the loss last. */
    int (*score_open)(struct task_data *data, void **ret_score, struct error *err);
    int (*score_batch)(void *score, const struct batch *batch, const struct task_outputs *outputs,
                       int64_t *ret_images, struct error *err);
    int (*score_end)(void *score, struct comm *comm, struct evaluation *ret, struct error *err);
    void (*score_close)(void *score);

    /* What was found, on rank 0 after score_end: as a file in place of PATH, and painted beside the
     * truth. A picture that cannot be read is warned of and left out. NULL, both: there is nothing
     * of the kind. */
    int (*score_write)(void *score, const char *path, struct error *err);
    int (*score_show)(void *score, const struct task_show *show, struct error *err);

    /* Predictions, where data was opened for pictures without labels: score_open and score_batch
     * gather them, and in place of score_end they become files in HOW->folder, which is there. The
     * first asks before the work whether they can, and costs nobody a file. */
    int (*tell_check)(const struct task_data *data, const struct task_tell *how, struct error *err);
    int (*tell)(void *score, const struct task_tell *how, struct error *err);

    /* Number I of the names of figures that an evaluation of MODEL tells; NULL behind the last. */
    const char *(*figure)(const struct model *model, int i);
    /* Of these, which say how good a model is, the first one that there is; NULL ends the list. */
    const char *best[3];

    /* One or more lines for people, without the last line's end. NULL: names and values. */
    int (*print)(struct buf *out, double epoch, const struct evaluation *e, struct error *err);
};

extern const struct task TASK_CLASSIFY;
extern const struct task TASK_DETECT;

#endif
