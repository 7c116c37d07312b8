/* Objects in pictures: a COCO data set. */
#include "detect/detection_source.h"
#include "task/detect_data.h"
#include "task/detect_score.h"
#include "task/detect_tell.h"

static int64_t left_out(const struct batch *batch, const char **ret_what) {
    *ret_what = "masks, the smallest of a batch, had no room in it; their boxes and labels count";
    return detection_batch_dropped(batch).masks;
}

const struct task TASK_DETECT = {
    .open = detect_open,
    .close = detect_close,
    .describe = detect_describe,
    .left_out = left_out,
    .score_open = detect_score_open,
    .score_batch = detect_score_batch,
    .score_end = detect_score_end,
    .score_close = detect_score_close,
    .score_write = detect_score_write,
    .score_show = detect_score_show,
    .tell_check = detect_tell_check,
    .tell = detect_score_tell,
    .print = detect_print,
};
