/* Pasting of a mask head's small square into the picture: the logits of one detection's class,
 * resized to its box, as run lengths. No bitmap is made: in each column only the few source rows
 * between which the value crosses one half are evaluated pixel by pixel, all others give whole
 * runs.
 *
 * Two rules: MASK_PASTE_TV, as torchvision's paste_masks_in_image (after Mask R-CNN's first
 * implementation): the square of probabilities is padded with a ring of zeros, the box grows by
 * the same share about its centre, its corners are truncated to whole pixels, the square is
 * resized to that box (bilinear, half-pixel centres, edges repeated); a pixel is in the mask above
 * one half. MASK_PASTE_D2, as detectron2: the centre of each pixel is sampled in the square
 * stretched over the unrounded box (bilinear, zeros outside); a pixel is in the mask from one half
 * on.
 *
 * f32 in the order of torch's own kernels; where a value is within rounding of one half, builds of
 * torch differ from each other as well. A NaN is in no mask. */
#ifndef TRAINER_EVAL_MASK_PASTE_H
#define TRAINER_EVAL_MASK_PASTE_H

#include "common/error.h"
#include "trainer/eval/rle.h"

#include <stdint.h>

enum mask_paste_rule { MASK_PASTE_TV, MASK_PASTE_D2 };

enum {
    MASK_PASTE_SIDE_MAX = 126,  /* of the square */
    MASK_PASTE_REACH = 1 << 24, /* pixels; a box beyond this, or with NaN, gives an empty mask */
};

struct mask_paste {
    enum mask_paste_rule rule;
    const float *logits; /* [side][side], rows first; borrowed */
    int side;
    float box[4];    /* x1, y1, x2, y2 in pixels of the picture */
    uint32_t height; /* of the picture; rle_size_fits */
    uint32_t width;
};

/* Scratch memory of one thread. Initialize with zeros. */
struct mask_paster {
    float *weights; /* owned; weights of the picture's rows */
    size_t capacity;
};

void mask_paster_done(struct mask_paster *paster);

/* A box outside the picture gives a mask without ones. */
int mask_paste(struct rle *ret, struct mask_paster *paster, const struct mask_paste *paste,
               struct error *err);

#define cleanup_mask_paster __attribute__((cleanup(mask_paster_done)))

#endif
