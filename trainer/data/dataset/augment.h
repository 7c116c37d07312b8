/* Augmentation of training pictures: from a picture of any size to a square of image_size pixels,
 * uint8 RGB.
 *
 * First a plan is drawn from the picture's size and from random numbers keyed by (seed, epoch,
 * sample) alone, so that it does not depend on threads, ranks or history. The plan is geometry: a
 * source box is scaled to a virtual picture, of which a window is taken, possibly mirrored. Then
 * only the pixels that the plan needs are decoded (codec/jpeg.h) and resampled (codec/resize.h).
 *
 * Random resized crop: area and aspect ratio at random, ten tries, else the largest central box
 * within the aspect limits; Szegedy et al., Going Deeper with Convolutions, section 6; tries and
 * fallback as in torchvision. Pad and crop: He et al., Deep Residual Learning, section 4.2. Centre
 * crop: short side to resize_side, then the centre; torchvision's rounding. */
#ifndef TRAINER_DATA_DATASET_AUGMENT_H
#define TRAINER_DATA_DATASET_AUGMENT_H

#include "trainer/data/codec/image.h"

#include <stdbool.h>
#include <stdint.h>

enum augment_mode {
    AUGMENT_CENTER_CROP,         /* evaluation */
    AUGMENT_RANDOM_RESIZED_CROP, /* training */
    AUGMENT_PAD_CROP,            /* training of small pictures: scale to fit, pad, random crop */
};

struct augment {
    enum augment_mode mode;
    int image_size;  /* side of the result, pixels */
    int resize_side; /* centre crop: length of the short side before it */
    int pad;         /* pad and crop: pixels of black on every side */
    double area_min; /* random resized crop: range of the share of the picture's area */
    double area_max;
    double aspect_min; /* range of width over height, drawn uniformly in its logarithm */
    double aspect_max;
    bool flip; /* mirror horizontally with probability 1/2 */
};

/* Random resized crop of area 0.08..1 and aspect 3/4..4/3 with flips; at 40 pixels and below pad
 * and crop by an eighth of the side (4 of 32), with flips. */
void augment_defaults_train(struct augment *augment, int image_size);
/* Centre crop; short side 8/7 of image_size (256 for 224, 128 for 112), or image_size itself at 40
 * pixels and below. */
void augment_defaults_eval(struct augment *augment, int image_size);
/* Centre crop with a short side of GIVEN before it; 0: of TRAINED, that of a trained network; both
 * 0: the default. */
struct augment augment_center_crop(int image_size, int given, int trained);

/* Fails if the recipe is invalid; the error names the field. */
int augment_check(const struct augment *augment, struct error *err);

struct augment_plan {
    struct rect source; /* of the original picture, within it */
    int width;          /* the source box is scaled to this size... */
    int height;
    int left; /* ...and the window image_size x image_size begins here; may be negative */
    int top;  /* (black outside) */
    bool flip;
};

/* Draws the plan for a picture of WIDTH x HEIGHT. */
void augment_draw(const struct augment *augment, int width, int height, uint64_t seed,
                  uint32_t epoch, uint64_t sample, struct augment_plan *ret_plan);

#endif
