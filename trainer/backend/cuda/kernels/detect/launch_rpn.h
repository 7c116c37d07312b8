/* Launchers of a region proposal network's operators (graph/op_rpn.h). They have the form of those
 * in kernels/launch.h. Geometry is f32, logits and deltas too. Choices equal the host's bit for
 * bit: the arithmetic is that of trainer/math, without contraction. */
#ifndef TRAINER_BACKEND_CUDA_KERNELS_DETECT_LAUNCH_RPN_H
#define TRAINER_BACKEND_CUDA_KERNELS_DETECT_LAUNCH_RPN_H

#include "trainer/graph/detect_grid.h"
#include "trainer/graph/tensor.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most numbers that a block sorts: candidates of one level of a picture, samples or proposals
 * of a picture. */
enum { LAUNCH_CANDIDATES_MAX = 2048 };

struct rpn_args {
    struct anchor_grid grid;
    struct detect_candidates places;
    struct proposal_rule rule;
    float coder[4];
    int pictures;
};

/* --- proposals.cu ----------------------------------------------------------------------------- */
struct top_k_args {
    struct rpn_args rpn;
    const float *logits[DETECT_LEVELS_MAX];
    float *score;
    int32_t *index, *nan;
};
cudaError_t launch_rpn_top_k(cudaStream_t stream, const struct top_k_args *args);

struct rpn_boxes_args {
    struct rpn_args rpn;
    const float *deltas[DETECT_LEVELS_MAX];
    const float *score;
    const int32_t *index, *image_size;
    float *box, *ranked_by;
};
cudaError_t launch_rpn_boxes(cudaStream_t stream, const struct rpn_boxes_args *args);

struct proposals_args {
    int pictures, candidates, slots;
    const float *from_box, *from_score;
    const int32_t *keep;
    float *box, *score;
    int32_t *count;
    int pool;         /* of the batch: so many are chosen of all pictures */
    uint64_t *border; /* scratch for that */
};
cudaError_t launch_proposals(cudaStream_t stream, const struct proposals_args *args);
cudaError_t launch_proposals_of_batch(cudaStream_t stream, const struct proposals_args *args);

/* --- nms.cu ----------------------------------------------------------------------------------- */
struct nms_args {
    struct detect_candidates places;
    int pictures;
    float threshold, plus;
    const float *box, *score;
    int32_t *keep;
    void *scratch; /* launch_nms_scratch() bytes */
};
size_t launch_nms_scratch(const struct detect_candidates *places, int pictures);
cudaError_t launch_nms(cudaStream_t stream, const struct nms_args *args);

/* --- targets.cu ------------------------------------------------------------------------------- */
struct rpn_targets_args {
    struct rpn_args rpn;
    float background_iou, foreground_iou;
    int inside; /* anchors that leave the picture are ignored */
    int slots, samples, positives;
    const float *objects;
    const int32_t *count, *image_size, *key;
    int32_t *index, *label, *counts;
    float *target;
    void *scratch; /* launch_rpn_targets_scratch() bytes */
};
size_t launch_rpn_targets_scratch(const struct rpn_targets_args *args);
cudaError_t launch_rpn_targets(cudaStream_t stream, const struct rpn_targets_args *args);

/* --- rpn_loss.cu ------------------------------------------------------------------------------ */
struct rpn_loss_args {
    struct rpn_args rpn;
    const float *logits[DETECT_LEVELS_MAX],
        *deltas[DETECT_LEVELS_MAX]; /* gradient: level 0 of it */
    const int32_t *index, *label;
    const float *target;
    int samples;     /* slots of a picture */
    int fixed_count; /* the divisor is the number of slots */
    float beta;
};
/* losses: enum rpn_loss. */
cudaError_t launch_rpn_loss(cudaStream_t stream, const struct rpn_loss_args *args, float *losses);
/* Gradients are multiplied by gradient_scale and by *loss_scale (device memory). */
cudaError_t launch_rpn_loss_grad(cudaStream_t stream, enum dtype type,
                                 const struct rpn_loss_args *args, int level, void *dlogits,
                                 void *ddeltas, float gradient_scale, const float *loss_scale);

/* --- rpn_head.cu ------------------------------------------------------------------------------ */
/* The head's outputs for a pixel: logits, then deltas. */
enum { HEAD_WIDTH = 5 * ANCHOR_SHAPES };

/* Arguments of OP_RPN_HEAD_GRAD (graph/op_rpn.h); loss.logits[0] and loss.deltas[0] are those of
 * the level. */
struct rpn_head_args {
    struct rpn_loss_args loss;
    int level, in, out; /* the level's number; channels of x, of t */
    float gradient_scale;
    const float *loss_scale; /* device memory */
    const void *x, *t;
    const float *w_conv, *w_cls, *w_box;
    void *dx;
    float *dw_conv, *db_conv, *dw_cls, *db_cls, *dw_box, *db_box;
    /* Scratch. U rows at most, a slot each */
    int32_t *counts, *total; /* [pictures], [1]: sampled pixels */
    int32_t *first;          /* [slots]: it is the first one of its pixel */
    int32_t *pixel;          /* [U]: where in the batch */
    int32_t *row;            /* [pixels of the batch]: u, or -1 */
    float *gradient;         /* [U, HEAD_WIDTH] */
    float *dt, *dpatch;      /* [U, out], [U, 9 * in] */
};
/* Sets the scratch addresses from MEMORY on and returns the bytes; MEMORY may be NULL. */
size_t launch_rpn_head_scratch(struct rpn_head_args *args, void *memory);
cudaError_t launch_rpn_head_grad(cudaStream_t stream, enum dtype type,
                                 const struct rpn_head_args *args);

#ifdef __cplusplus
}
#endif

#endif
