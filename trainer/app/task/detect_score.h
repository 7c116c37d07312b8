/* Evaluation of a detection network: COCO's twelve metrics for boxes and, if the network has
 * masks, twelve for masks. The results of all ranks are gathered and scored by rank 0.
 *
 * Outputs of the network that it reads, for N pictures with up to D detections each:
 *
 *     found_box    f32 [N, D, 4], in pixels of the scaled picture   found_score  f32 [N, D]
 *     found_label  i32 [N, D], from 1                               found_count  i32 [N]
 *     found_nan    i32 [N], not 0: the outputs are NaN
 *     found_mask   f32 [N * D, side, side], logits; may be missing */
#ifndef TRAINER_APP_TASK_DETECT_SCORE_H
#define TRAINER_APP_TASK_DETECT_SCORE_H

#include "trainer/app/task/detect_data.h"

/* Functions of struct task. */
int detect_score_open(struct task_data *data, void **ret_score, struct error *err);
int detect_score_batch(void *score, const struct batch *batch, const struct task_outputs *outputs,
                       int64_t *ret_images, struct error *err);
int detect_score_end(void *score, struct comm *comm, struct evaluation *ret, struct error *err);
void detect_score_close(void *score);
int detect_score_table(void *score, struct buf *out, struct error *err);
int detect_score_classes(void *score, struct buf *out, struct error *err);
int detect_score_write(void *score, const char *path, struct error *err);
int detect_score_gather(void *score, struct comm *comm, struct error *err);
int detect_score_predictions(void *score, const struct task_predictions *how, struct error *err);
int detect_score_show(void *score, const struct task_show *show, struct error *err);

const char *detect_figure(const struct model *model, int i);
int detect_print(struct buf *out, double epoch, const struct evaluation *e, struct error *err);

#endif
