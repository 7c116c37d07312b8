/* Objects in pictures: a COCO data set. */
#include "task/detect_data.h"
#include "task/detect_score.h"

#include <stdint.h>
#include <string.h>

static void describe(const struct task_data *data, const struct task_ask *ask,
                     struct model_config *ret) {
    ret->class_names = (char **)(uintptr_t)data->class_names;
    ret->classes = data->classes;
    ret->image_size = (int)ask->options->short_side;
    ret->resize_side = (int)ask->options->long_side;
    memcpy(ret->mean, MODEL_MEAN, sizeof(ret->mean));
    memcpy(ret->std, MODEL_STD, sizeof(ret->std));
}

const struct task TASK_DETECT = {
    .open = detect_open,
    .close = detect_close,
    .describe = describe,
    .score_open = detect_score_open,
    .score_batch = detect_score_batch,
    .score_end = detect_score_end,
    .score_close = detect_score_close,
    .print = detect_print,
};
