/* Where the data lies and where results go. Flags first, then what SageMaker gives, then the
 * current folder:
 *
 *     training     --data, $SM_CHANNEL_TRAIN, $SM_CHANNEL_TRAINING,
 *                  /opt/ml/input/data/{train,training}; its train/ where it has parts
 * (dataset/splits.h) validation   --validation; without --data
 * $SM_CHANNEL_{VALIDATION,VALID,VAL,DEV,EVAL,TEST},
 *                  /opt/ml/input/data/{validation,valid,val,dev,eval,test}; else the part for it
 * A network that finds objects takes a COCO data set's folder, or a JSON of annotations, as both;
 * which of its sets is meant is for the task to say.
 *
 *     model        --model-dir, $SM_MODEL_DIR, /opt/ml/model, ./model
 *     checkpoints  --checkpoint-dir, /opt/ml/checkpoints, ./checkpoints
 *     events       --tensorboard-dir, /opt/ml/output/tensorboard; else none
 *     log          --log-dir, $SM_OUTPUT_DATA_DIR, /opt/ml/output/data, the model's folder
 *     findings     --out; in training $SM_OUTPUT_DATA_DIR, /opt/ml/output/data, too; else none */
#ifndef TRAINER_APP_OPTIONS_INPUTS_H
#define TRAINER_APP_OPTIONS_INPUTS_H

#include "common/error.h"
#include "trainer/app/options/options.h"
#include "trainer/data/dataset/splits.h"

#include <stdbool.h>

enum { INPUT_PATH_MAX = 4096 };

struct inputs {
    bool synthetic; /* no folders */
    bool scored;    /* there is something to evaluate on */
    char training[INPUT_PATH_MAX];
    char validation[INPUT_PATH_MAX]; /* empty with --val-split: a part of `training` */
    char model[INPUT_PATH_MAX];
    char checkpoints[INPUT_PATH_MAX];
    char events[INPUT_PATH_MAX]; /* empty: none */
    char out[INPUT_PATH_MAX];    /* empty: none */
    char log[INPUT_PATH_MAX];    /* of a training */
    char note[SPLITS_NOTE_MAX];  /* to tell: how the data's folders were read; empty: nothing */
};

/* ROOT stands in front of /opt/ml; "" but in tests. No data at all is EXIT_CODE_DATA. For
 * COMMAND_EVAL `training` stays empty and --data may be the validation folder itself. */
/* `model` alone: before it is known what the model learnt. */
int inputs_model(struct inputs *in, const struct options *o, const char *root, struct error *err);

int inputs_find(struct inputs *in, const struct options *o, unsigned command, enum model_task task,
                const char *root, struct error *err);

/* A look that makes nothing: whether the folders of a training's results can be written, or made.
 * EXIT_CODE_CONFIG, with the flag's name. */
int inputs_check_places(const struct inputs *in, struct error *err);

#endif
