/* Configuration of a Mask R-CNN, and its inputs and outputs. The latter are the tensors to fill
 * before a step and to read after it. */
#ifndef TRAINER_MODELS_MASKRCNN_CONFIG_H
#define TRAINER_MODELS_MASKRCNN_CONFIG_H

#include "trainer/graph/tensor.h"
#include "trainer/models/detect_rules.h"

#include <stdbool.h>
#include <stdint.h>

enum { MASKRCNN_CANVAS_STEP = 32, MASKRCNN_MASK_SIDE = 28 };

struct maskrcnn_config {
    const char *model;
    const char *preset;     /* models/detect_preset.h */
    int batch;              /* pictures in a step of this rank */
    int canvas_h, canvas_w; /* pixels, multiples of MASKRCNN_CANVAS_STEP */
    int classes;            /* without the background */
    int objects;            /* slots per picture */
    int anchor_samples;     /* sampled from a picture in training, */
    int region_samples;     /* and regions; 0: the preset's */
    int64_t image_bytes;    /* bytes of a picture's slot, */
    int64_t mask_bytes;     /* and of the batch's masks */
    int polygons, points;   /* outlines: slots per picture; 0: masks are bitmaps only */
    bool training;
    bool frozen_norms;                /* norms are frozen, as in torchvision with given weights, */
    int frozen_stages;                /* and so are this many of stem and stages */
    enum dtype dtype;                 /* of activations */
    const struct detect_rules *rules; /* NULL: the preset's */
    float mean[3], std[3];            /* of pixel values in 0..1, unless the preset has its own */
    int stem_channels; /* channels of the resized picture: 3, or more, padded with zeros; 0:
                        * 3 */
};

/* Numbers of the tensors to fill before and to read after a step. Inputs have the names of their
 * fields. TENSOR_NONE in graphs without that tensor. */
struct maskrcnn_tensors {
    int image;      /* u8 [N, image_bytes] */
    int image_size; /* i32 [N, 6]: math/image_size.h */
    /* Training: */
    int gt_box;     /* f32 [N, objects, 4]: pixels of the resized picture */
    int gt_label;   /* i32 [N, objects]: from 1 */
    int gt_count;   /* i32 [N] */
    int gt_mask_at; /* i32 [N, objects, MASK_FIELDS]: math/mask_bits.h */
    int mask_bits;  /* u8 [mask_bytes] */
    int gt_parts;   /* i32 [N, objects, MASK_PART_FIELDS]: outlines (math/mask_target.h), */
    int polygon;    /* i32 [N * polygons, MASK_PART_FIELDS] */
    int point;      /* f32 [N * points, 2]; all three TENSOR_NONE without outlines */
    int key;        /* i32 [N, SAMPLE_KEY_WORDS]: math/sample_key.h */
    int metrics;    /* kept, "metrics" [DETECT_METRICS]: graph/op_roi.h */
    /* Evaluation, kept under these names; D detections per picture: */
    int found_box;   /* f32 [N, D, 4]: pixels of the resized picture */
    int found_score; /* f32 [N, D] */
    int found_label; /* i32 [N, D]: from 1, -1 in empty slots */
    int found_count; /* i32 [N] */
    int found_nan;   /* i32 [N]: number of NaN logits of the region proposal network */
    int found_mask;  /* wide [N * D, 28, 28]: logits */
};

#endif
