/* A trained model and the data that it is to look at: what the commands that use one share. Opened
 * step by step, in this order, all ranks together; TRAINED stays where it is. */
#ifndef TRAINER_APP_COMMAND_TRAINED_H
#define TRAINER_APP_COMMAND_TRAINED_H

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
    struct options *options; /* borrowed, all of these; gets what the model brings along */
    unsigned command;
    int argc; /* that the options come from */
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

/* The model's description: of --model-dir. */
int trained_describe(struct trained *trained, struct error *err);
/* Whether `config`, which WHERE holds, is of a network that there is, and the flags are for it;
 * what it brings along counts for flags that were not given. */
int trained_check(struct trained *trained, const char *where, struct error *err);
/* The data to score on, or PICTURES (not NULL) that nobody has labelled. */
int trained_open_data(struct trained *trained, const struct picture_list *pictures,
                      struct error *err);
/* Where what is found will go; whether it can, on the rank that writes. */
int trained_findings(const struct trained *trained, struct eval_artifacts *ret, struct error *err);
int trained_open_network(struct trained *trained, struct error *err);
/* The weights in FILE. */
int trained_read(struct trained *trained, const struct safetensors *file, struct error *err);
/* The weights of --model-dir. */
int trained_load(struct trained *trained, struct error *err);

#endif
