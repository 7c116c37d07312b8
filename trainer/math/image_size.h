/* What a picture of a batch is and becomes: a batch's image_size, i32 [N,IMAGE_SIZE_FIELDS]. The
 * picture lies as u8 RGB rows without gaps at the start of its slot of the batch's bytes; resized,
 * it takes the upper left corner of the canvas, and boxes are in its pixels there. */
#ifndef TRAINER_MATH_IMAGE_SIZE_H
#define TRAINER_MATH_IMAGE_SIZE_H

enum image_size_field {
    IMAGE_SIZE_SOURCE_H, /* pixels, of the picture as it lies there */
    IMAGE_SIZE_SOURCE_W,
    IMAGE_SIZE_H, /* and of what it is resized to: within the canvas */
    IMAGE_SIZE_W,
    IMAGE_SIZE_FLIP,  /* 1: mirrored, the left column to the right */
    IMAGE_SIZE_VALID, /* 0: there is no picture, and all its pixels are 0 */
    IMAGE_SIZE_FIELDS
};

#endif
