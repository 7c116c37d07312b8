/* COCO data set as samples for a detector.
 *
 * It has the pictures that are used, and the objects in each. Made from an index (coco_index.h);
 * pictures keep the index' order, by id.
 *
 * An object is used if it is no crowd and its box, clipped to the picture in f32 as by torchvision,
 * has an area. If `last_pixel` is set, x2 and y2 are the last pixels inside, clipped to width and
 * height - 1, as in maskrcnn-benchmark (structures/bounding_box.py). Labels start at 1; 0 is the
 * background. Pictures used for training:
 *
 *     DETECTION_PICK_TV    those with an annotation, crowds included, with a box larger than a
 *                          pixel in both directions (torchvision's reference training)
 *     DETECTION_PICK_USED  those with an object that is used
 *     DETECTION_PICK_ALL   all: for evaluation
 *
 * Everything left out is counted in `left_out`. Invalid input is an error with EXIT_CODE_DATA that
 * names the JSON and the id: no images, no categories, no annotations where they are needed, a
 * category with id below 0, a picture without sizes, without file name or with one that leads out
 * of the folder, an annotation without box or of an unlisted category, runs of another size than
 * the picture's.
 *
 * A set is constant after it was made and may be read by any number of threads. */
#ifndef TRAINER_DATA_DETECT_DETECTION_SET_H
#define TRAINER_DATA_DETECT_DETECTION_SET_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/detect/detect_size.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum detection_pick { DETECTION_PICK_TV, DETECTION_PICK_USED, DETECTION_PICK_ALL };

enum {
    DETECTION_LABELS_MAX = 4096, /* the largest label */
    DETECTION_PICTURE_SIDE_MAX = 65535,
};

struct detection_object {
    float box[4];        /* x1, y1, x2, y2 in the picture's pixels, clipped to it */
    int32_t label;       /* 1 .. labels */
    uint32_t annotation; /* its number in the index */
    bool outlined;       /* it has a mask */
};

struct detection_picture {
    uint32_t image; /* its number in the index */
    uint32_t count; /* number of its objects... */
    size_t first;   /* ...and the first of them */
    uint16_t height;
    uint16_t width;
};

struct detection_left_out {
    size_t pictures;   /* not used: no object in them by the rule */
    size_t crowds;     /* crowd annotations */
    size_t degenerate; /* objects with a box that has no area within the picture */
    size_t outlines;   /* used objects without a mask */
    size_t clamped;    /* used objects with a clipped box */
};

struct detection_options {
    enum detection_pick pick;
    bool paths;      /* file names are paths: there is no folder of pictures */
    bool id_labels;  /* labels are category ids, as in COCO_V1 weights; else the category's number +
                      * 1 */
    bool last_pixel; /* boxes include their last pixels */
};

struct detection_set {
    const struct coco_index *index;     /* borrowed, both */
    const char *folder;                 /* of the pictures */
    bool paths;                         /* file names are paths */
    struct detection_picture *pictures; /* owned */
    size_t count;
    struct detection_object *objects; /* owned; in the JSON's order within a picture */
    size_t object_count;
    bool last_pixel;   /* see the options */
    int32_t labels;    /* the largest label: classes without the background */
    int32_t *label_of; /* owned; [index->category_count] */
    uint32_t most;     /* maximum of objects in one picture */
    struct detection_left_out left_out;
    uint64_t hash; /* of ids, sizes, boxes and labels: ranks with different hashes have different
                    * sets */
};

void detection_set_done(struct detection_set *set);

int detection_set_make(struct detection_set *ret, const struct coco_index *index,
                       const char *folder, const struct detection_options *options,
                       struct error *err);

/* Returns the category of LABEL, COCO_NUMBER_NONE for none. */
uint32_t detection_set_category(const struct detection_set *set, int32_t label);

/* Writes the path of a picture's file; the error names its id if it is too long. */
int detection_set_path(const struct detection_set *set, size_t sample, char *ret, size_t size,
                       struct error *err);

/* Appends one line: the numbers of pictures and objects, and of everything left out. */
int detection_set_describe(const struct detection_set *set, struct buf *out, struct error *err);

static inline struct detect_size detection_picture_size(const struct detection_picture *picture) {
    return (struct detect_size){picture->height, picture->width};
}

#define cleanup_detection_set __attribute__((cleanup(detection_set_done)))

#endif
