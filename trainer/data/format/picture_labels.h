/* Classes of pictures in a file of their own.
 *
 * They are for archives that have no folders of classes, as ImageNet's validation set:
 *
 *     n01751748                                     a class a line, of the pictures by name
 *     ILSVRC2012_val_00048981,n03995372 85 1 499    a picture and its class a line, in any order,
 *     ILSVRC2012_val_00048981.JPEG n03995372        separated by a comma or blanks; what follows
 *                                                   does not count, nor the name's suffix
 *
 * The first is TensorFlow's imagenet_2012_validation_synset_labels.txt, the second Kaggle's
 * LOC_val_solution.csv, with its line of headings or without. Classes as numbers, the development
 * kit's ILSVRC2012_validation_ground_truth.txt, are refused: which class a number means is in a
 * file of MATLAB beside it. */
#ifndef TRAINER_DATA_FORMAT_PICTURE_LABELS_H
#define TRAINER_DATA_FORMAT_PICTURE_LABELS_H

#include "common/error.h"

#include <stddef.h>

struct picture_label {
    const char *picture; /* name without folder and suffix; NULL: known by its place alone */
    const char *class_name;
};

/* Zeroed, it is empty. */
struct picture_labels {
    char *text;                  /* owned; what the labels point into */
    struct picture_label *items; /* owned; [count], sorted by picture where these are named */
    size_t count;
};

void picture_labels_done(struct picture_labels *labels);

/* Errors are EXIT_CODE_DATA and name the file and the line. */
int picture_labels_read(struct picture_labels *ret, const char *path, struct error *err);

/* Takes over TEXT, of SIZE bytes and a NUL, in any case; SOURCE names it in errors. */
int picture_labels_parse(struct picture_labels *ret, char *text, size_t size, const char *source,
                         struct error *err);

/* Returns the class of the picture at PATH, which is number PLACE by name, or NULL. */
const char *picture_labels_find(const struct picture_labels *labels, const char *path,
                                size_t place);

#define cleanup_picture_labels __attribute__((cleanup(picture_labels_done)))

#endif
