/* Detections of a network, transformed back to the original picture: boxes scaled to its pixels,
 * masks pasted, labels mapped to category ids, as results for scoring and writing.
 *
 * Boxes are scaled in f32 as by the postprocessing of torchvision (DETECTIONS_TV) or detectron2;
 * the latter also clips them to the picture and drops those without area. Widths and heights are
 * computed in f32, too. A detection with an unknown label, or a non-finite score or box, is left
 * out and counted. */
#ifndef TRAINER_DATA_DETECT_DETECTIONS_H
#define TRAINER_DATA_DETECT_DETECTIONS_H

#include "common/error.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/data/detect/detect_size.h"
#include "trainer/data/detect/detection_set.h"
#include "trainer/eval/mask_paste.h"
#include "trainer/eval/rle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct detections {
    const float *box;     /* [count][4]: x1, y1, x2, y2 in pixels of the scaled picture */
    const float *score;   /* [count] */
    const int32_t *label; /* [count] */
    const float *logits;  /* [count][side][side] of each detection's class; NULL: no masks */
    int side;
    int count;
    bool last_pixel; /* x2 and y2 are the last pixels inside: maskrcnn-benchmark's boxes */
    struct detect_size scaled; /* size of the picture in the network, without padding */
};

/* Scratch memory of one thread. Initialize with zeros. */
struct detections_scratch {
    struct mask_paster paster;
    struct rle mask;
};

void detections_scratch_done(struct detections_scratch *room);

/* Appends the detections FOUND in picture SAMPLE of SET to RESULTS; adds to *LEFT_OUT. */
int detections_add(struct coco_results *results, struct detections_scratch *room,
                   const struct detection_set *set, size_t sample, const struct detections *found,
                   enum mask_paste_rule rule, size_t *left_out, struct error *err);

#define cleanup_detections_scratch __attribute__((cleanup(detections_scratch_done)))

#endif
