/* Launchers of the operators that follow the proposals (graph/op_roi.h). They have the form of
 * those in kernels/launch.h. Geometry, logits, deltas and losses are f32. Choices equal the host's
 * bit for bit: the arithmetic is that of trainer/math, without contraction. Sums are made in a
 * fixed order: atomics add only counts. */
#ifndef TRAINER_BACKEND_CUDA_KERNELS_DETECT_LAUNCH_ROI_H
#define TRAINER_BACKEND_CUDA_KERNELS_DETECT_LAUNCH_ROI_H

#include "trainer/graph/op_roi.h"
#include "trainer/graph/tensor.h"
#include "trainer/math/roi_axis.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- image.cu --------------------------------------------------------------------------------- */
struct image_resize_args {
    int images, height, width, channels;
    size_t bytes; /* of a picture's slot */
    bool bgr;     /* blue first, levels of 0 to 255; else 0 to 1 */
    float mean[3], std[3];
    const uint8_t *image;
    const int32_t *size;
    void *y;
};
cudaError_t launch_image_resize(cudaStream_t stream, enum dtype type,
                                const struct image_resize_args *args);

/* --- roi_align.cu ----------------------------------------------------------------------------- */
enum { LAUNCH_BINS_MAX = 32 };
struct roi_map {
    void *values;       /* read by the forward pass, written by the gradient */
    const void *before; /* added to the gradient, where it may lie; or NULL */
    int height, width;
    float scale;
};
/* The map and place of a head's row; image -1: none. */
struct roi_region {
    int32_t image, level;
    struct roi_axis y, x;
};
struct roi_align_args {
    struct roi_map map[ROI_LEVELS_MAX];
    struct roi_rule rule;
    int levels, images, slots, rows, channels;
    float level_epsilon;
    bool level_inside;
    float plus;
    const float *roi;
    const int32_t *label, *row;
    void *bins;                 /* y, or dy */
    struct roi_region *regions; /* scratch: one a row */
};
cudaError_t launch_roi_align(cudaStream_t stream, enum dtype type,
                             const struct roi_align_args *args);
cudaError_t launch_roi_align_grad(cudaStream_t stream, enum dtype type,
                                  const struct roi_align_args *args);

/* --- roi_targets.cu --------------------------------------------------------------------------- */
enum { ROI_SAMPLES_MAX = 2048 }; /* per picture */
struct roi_targets_args {
    int images, proposals, objects, samples, positives;
    float foreground_iou, background_iou, plus, coder[4];
    const float *box, *gt_box;
    const int32_t *count, *gt_label, *gt_count, *key;
    float *roi, *target;
    int32_t *label, *match;
    void *scratch; /* launch_roi_targets_scratch() bytes */
};
size_t launch_roi_targets_scratch(const struct roi_targets_args *args);
cudaError_t launch_roi_targets(cudaStream_t stream, const struct roi_targets_args *args);

struct mask_rows_args {
    int slots, picture_slots, objects, rows; /* slots: of all pictures */
    const int32_t *label, *match, *at;
    int32_t *row, *mask_label, *count;
};
cudaError_t launch_mask_rows(cudaStream_t stream, const struct mask_rows_args *args);

/* --- mask.cu ---------------------------------------------------------------------------------- */
struct mask_targets_args {
    int rows, slots, objects, bins;
    const float *roi;
    const int32_t *match, *row, *at, *size;
    const uint8_t *pool;
    bool cut;                    /* to 0 or 1 */
    float least;                 /* of a region's sides under an outline */
    const int32_t *parts, *part; /* outlines; NULL */
    const float *point;
    float *targets;
};
cudaError_t launch_mask_targets(cudaStream_t stream, const struct mask_targets_args *args);

struct mask_loss_args {
    const float *logits, *targets;
    const int32_t *count;
    int rows, pixels;
    float gradient_scale;
};
/* PARTS is scratch, one number a row. */
cudaError_t launch_mask_loss(cudaStream_t stream, const struct mask_loss_args *args, double *parts,
                             float *value);
/* The gradient is multiplied by gradient_scale and *loss_scale (device memory), as are those
 * below. */
cudaError_t launch_mask_loss_grad(cudaStream_t stream, enum dtype type,
                                  const struct mask_loss_args *args, void *dlogits,
                                  const float *loss_scale);

/* --- class_conv.cu ---------------------------------------------------------------------------- */
struct class_conv_args {
    int rows, pixels, channels, classes;
    const int32_t *label;
    const void *x, *dy;
    const float *w, *b;
    float *logits;
    void *dx;
    float *dw, *db;
    float *parts; /* scratch of the weights' gradient: channels + 1 a row */
};
cudaError_t launch_class_conv(cudaStream_t stream, enum dtype type,
                              const struct class_conv_args *args);
cudaError_t launch_class_conv_grad_data(cudaStream_t stream, enum dtype type,
                                        const struct class_conv_args *args);
cudaError_t launch_class_conv_grad_weight(cudaStream_t stream, enum dtype type,
                                          const struct class_conv_args *args);

/* --- detect_loss.cu --------------------------------------------------------------------------- */
struct box_loss_args {
    const float *logits, *deltas, *target;
    const int32_t *label;
    int rows, classes;
    float beta;
    float gradient_scale;
    double *parts; /* scratch: BOX_LOSSES a row; gradient: one a row, and one */
};
cudaError_t launch_box_loss(cudaStream_t stream, const struct box_loss_args *args, float *values);
cudaError_t launch_box_loss_grad(cudaStream_t stream, enum dtype type,
                                 const struct box_loss_args *args, void *dlogits, void *ddeltas,
                                 const float *loss_scale);

struct total_loss_args {
    const float *rpn, *box, *mask;
    const int32_t *size;
    int images;
    float *metrics;
};
cudaError_t launch_total_loss(cudaStream_t stream, const struct total_loss_args *args);

/* --- detections.cu ---------------------------------------------------------------------------- */
struct detections_args {
    int images, proposals, classes, found; /* classes: with the background; found: slots */
    float score_threshold, nms_threshold, min_side, plus, coder[4];
    bool side_above;
    const float *logits, *deltas, *box;
    const int32_t *count, *size;
    float *found_box, *found_score;
    int32_t *found_label, *found_count;
    void *scratch; /* launch_detections_scratch() bytes */
};
size_t launch_detections_scratch(const struct detections_args *args);
cudaError_t launch_detections(cudaStream_t stream, const struct detections_args *args);

#ifdef __cplusplus
}
#endif

#endif
