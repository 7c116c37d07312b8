/* Size of a picture of a batch before and after resizing: a batch's image_size, i32
 * [N,IMAGE_SIZE_FIELDS]. The picture is stored as u8 RGB rows without gaps at the start of its
 * slot of the batch's bytes; resized, it is in the upper left corner of the canvas, and boxes are
 * in its pixels there. */
#ifndef TRAINER_MATH_IMAGE_SIZE_H
#define TRAINER_MATH_IMAGE_SIZE_H

enum image_size_field {
    IMAGE_SIZE_SOURCE_H, /* pixels of the stored picture */
    IMAGE_SIZE_SOURCE_W,
    IMAGE_SIZE_H, /* pixels of the resized picture: within the canvas */
    IMAGE_SIZE_W,
    IMAGE_SIZE_FLIP,  /* 1: mirrored horizontally */
    IMAGE_SIZE_VALID, /* 0: there is no picture, and all its pixels are 0 */
    IMAGE_SIZE_FIELDS
};

#endif
