/* A trained model with the data to apply it to: shared by the commands that use a model. Opened
 * step by step, in the order of the functions, by all ranks together. A struct trained must not
 * move. */
#ifndef TRAINER_APP_COMMAND_TRAINED_TRAINED_H
#define TRAINER_APP_COMMAND_TRAINED_TRAINED_H

#include "common/error.h"
#include "trainer/app/device/threads.h"
#include "trainer/app/options/inputs.h"
#include "trainer/app/options/options.h"
#include "trainer/app/run/eval_artifacts.h"
#include "trainer/app/step/network.h"
#include "trainer/app/task/task.h"
#include "trainer/checkpoint/model_dir.h"
#include "trainer/comm/comm.h"
#include "trainer/data/dataset/picture_list.h"

struct trained {
    struct options *options; /* borrowed, all of these; the model's own settings are added */
    unsigned command;
    int argc; /* command line of the options */
    char *const *argv;
    struct comm *comm;

    struct inputs inputs;
    struct model_config config;
    const struct model *model;
    struct task_data data;
    struct threads threads;
    struct backend *backend;
    struct network net;
};

void trained_done(struct trained *trained);

/* Reads the description in --model-dir. */
int trained_describe(struct trained *trained, struct error *err);
/* Checks that `config`, which comes from WHERE, is of a known network and that the flags apply to
 * it. The model's own settings replace flags that were not given. */
int trained_check(struct trained *trained, const char *where, struct error *err);
/* Opens the data to score on, or PICTURES (not NULL) without labels. */
int trained_open_data(struct trained *trained, const struct picture_list *pictures,
                      struct error *err);
/* Determines where artifacts go; on the rank that writes, checks that they can. */
int trained_artifacts(const struct trained *trained, struct eval_artifacts *ret, struct error *err);
int trained_open_network(struct trained *trained, struct error *err);
/* Reads the weights in FILE. */
int trained_read(struct trained *trained, const struct safetensors *file, struct error *err);
/* Reads the weights in --model-dir. */
int trained_load(struct trained *trained, struct error *err);

#endif
