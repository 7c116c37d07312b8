/* Locations of inputs and outputs, from flags, variables and defaults.
 *
 * Each is taken from the first source in its row that is given or exists; variables are
 * SageMaker's:
 *
 *     training     --data, $SM_CHANNEL_TRAIN, $SM_CHANNEL_TRAINING,
 *                  /opt/ml/input/data/{train,training}; its train/ where it has parts
 *                  (dataset/splits.h)
 *     validation   --validation; without --data $SM_CHANNEL_{VALIDATION,VALID,VAL,DEV,EVAL,TEST},
 *                  /opt/ml/input/data/{validation,valid,val,dev,eval,test}; else the matching
 *                  part of the training data
 *     model        --model-dir, $SM_MODEL_DIR, /opt/ml/model, ./model
 *     checkpoints  --checkpoint-dir, /opt/ml/checkpoints, ./checkpoints
 *     events       --tensorboard-dir, /opt/ml/output/tensorboard; else none
 *     log          --log-dir, $SM_OUTPUT_DATA_DIR, /opt/ml/output/data, the model's folder
 *     out          --out; in training also $SM_OUTPUT_DATA_DIR, /opt/ml/output/data; else none
 *
 * For detection networks, training and validation are the folder of a COCO data set, or a JSON file
 * of annotations; the task decides which of its sets to use. */
#ifndef TRAINER_APP_OPTIONS_INPUTS_H
#define TRAINER_APP_OPTIONS_INPUTS_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/data/dataset/splits.h"

#include <stdbool.h>

enum { INPUT_PATH_MAX = 4096 };

struct inputs {
    bool synthetic; /* the data is synthetic; no folders */
    bool scored;    /* there is validation data */
    char training[INPUT_PATH_MAX];
    char validation[INPUT_PATH_MAX]; /* empty with --val-split: a part of `training` */
    char model[INPUT_PATH_MAX];
    char checkpoints[INPUT_PATH_MAX];
    char events[INPUT_PATH_MAX]; /* empty: none */
    char out[INPUT_PATH_MAX];    /* empty: none */
    char log[INPUT_PATH_MAX];    /* log folder of a training */
    char note[SPLITS_NOTE_MAX];  /* how the data's folders were interpreted, for the log; empty:
                                  * nothing to report */
};

/* Fills `model` alone, for commands that read the model to find out its task. ROOT as below. */
int inputs_model(struct inputs *in, const struct options *o, const char *root, struct error *err);

/* Fills IN. ROOT is prepended to /opt/ml: "" except in tests. No data at all is EXIT_CODE_DATA.
 * With COMMAND_EVAL `training` stays empty, and --data may itself be the validation folder. */
int inputs_find(struct inputs *in, const struct options *o, unsigned command, enum model_task task,
                const char *root, struct error *err);

/* Checks that each output folder of a training is writable or can be created: a folder is made in
 * it, or in its nearest ancestor that exists, and removed. Fails with EXIT_CODE_CONFIG and the
 * flag's name. */
int inputs_check_places(const struct inputs *in, struct error *err);

#endif
