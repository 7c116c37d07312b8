/* Set of shapes, and a small training on it.
 *
 * The tests of a detector's data and scores share them. */
#ifndef TESTS_UNIT_TRAINER_APP_TASK_DETECT_ASK_H
#define TESTS_UNIT_TRAINER_APP_TASK_DETECT_ASK_H

#include "tests/support/unit.h"
#include "trainer/app/task/task.h"
#include "trainer/data/shapes/coco_shapes.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 2, ROOM = 8, TRAIN = 24, VALIDATION = 9 };

static const struct model_metric LIST[] = {
    [METRIC_LOSS] = {"loss", 0, METRIC_MEAN, true},
    [METRIC_SAMPLES] = {"images", 1, METRIC_SUM, true},
    {NULL, 0, METRIC_SUM, false},
};
static const struct model MODEL = {.name = "finder", .task = MODEL_DETECT, .metrics = LIST};

static struct options options;
static struct inputs inputs;
static struct comm *alone;
static char folder[PATH_MAX];

static void make_set(void) {
    struct prepare_options o;
    coco_shapes_defaults(&o);
    snprintf(folder, sizeof(folder), "%s/shapes", unit_temp_dir());
    o.folder = folder;
    o.train = TRAIN;
    o.validation = VALIDATION;
    o.seed = 5;
    CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&o, NULL), 0);
}

/* A small training on the set, with one more flag. */
static struct task_request ask_with(const char *flag, const char *value) {
    struct error err = {0};
    options = (struct options){.data = folder, .canvases = "auto", .bad_samples = "fail"};
    options.batch_size = BATCH;
    options.accumulate = 1;
    options.short_side = 96;
    options.long_side = 160;
    options.gt_slots = ROOM;
    options.flip = true;
    options.norm_epsilon = 1e-5;
    if (flag != NULL && strcmp(flag, "train-set") == 0)
        options.train_set = value;
    if (flag != NULL && strcmp(flag, "canvases") == 0)
        options.canvases = value;
    CU_ASSERT_EQUAL_FATAL(
        inputs_find(&inputs, &options, COMMAND_TRAIN, MODEL_DETECT, "/nowhere", &err), 0);
    return (struct task_request){
        .options = &options, .inputs = &inputs, .comm = alone, .model = &MODEL};
}

#endif
