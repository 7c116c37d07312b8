/* COCO annotations in a compact form, made once from the JSON.
 *
 * It can be stored in a file. Images and categories are sorted by id and numbered in that order.
 * Annotations are grouped by image, within an image in the order of the JSON; those of unlisted
 * images come last. The last image or category of a repeated id is used, as in pycocotools;
 * annotations with the same id are all kept. Outlines stay packed (coco_segment.h).
 *
 * The index is constant after opening and may be read by any number of threads. It is wholly in
 * memory, so later changes to its file have no effect. */
#ifndef TRAINER_DATA_COCO_COCO_INDEX_H
#define TRAINER_DATA_COCO_COCO_INDEX_H

#include "common/error.h"
#include "trainer/data/coco/coco_json.h"
#include "trainer/data/coco/coco_segment.h"
#include "trainer/eval/rle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No image or category with that id. */
#define COCO_NUMBER_NONE UINT32_MAX

/* Flags of an annotation: it is a crowd, it has a box, it has an area. */
enum { COCO_ANNOTATION_CROWD = 1, COCO_ANNOTATION_BOX = 2, COCO_ANNOTATION_AREA = 4 };

/* Lists in a JSON, as bits. */
enum coco_list { COCO_LIST_IMAGES = 1, COCO_LIST_CATEGORIES = 2, COCO_LIST_ANNOTATIONS = 4 };

/* The three structs below are laid out as in the file. */
struct coco_image {
    int64_t id;
    uint64_t name;  /* offset of the file name in the names */
    uint64_t first; /* its annotations: the first one */
    uint32_t count;
    uint32_t width; /* 0 if not given */
    uint32_t height;
    uint32_t unused;
};

struct coco_category {
    int64_t id;
    uint64_t name;
};

struct coco_annotation {
    int64_t id;
    double box[4];
    double area;
    uint64_t segment; /* offset of the outline */
    uint32_t segment_size;
    uint32_t image; /* number or COCO_NUMBER_NONE, both */
    uint32_t category;
    uint32_t order; /* position in the JSON */
    uint16_t kind;  /* enum coco_segment_kind */
    uint16_t flags;
    uint32_t unused;
};

struct coco_index {
    const struct coco_image *images;
    size_t image_count;
    const struct coco_category *categories;
    size_t category_count;
    const struct coco_annotation *annotations;
    size_t annotation_count; /* all annotations */
    size_t placed_count;     /* those with a listed image; they come first */
    const char *names;
    size_t names_size;
    const uint8_t *segments;
    size_t segments_size;
    uint64_t repeated_images; /* repeated ids, counted when the index was made */
    uint64_t repeated_categories;

    const char *path; /* name for errors: borrowed, the JSON or the index file */
    struct coco_key source;
    unsigned lists; /* lists in the JSON */

    void *map; /* owned */
    size_t map_size;
};

void coco_index_done(struct coco_index *index);

/* Returns the first of the three lists that the JSON lacks, or NULL. */
const char *coco_index_missing(const struct coco_index *index);

/* Returns the number of an image or category, or COCO_NUMBER_NONE. */
uint32_t coco_index_image(const struct coco_index *index, int64_t id);
uint32_t coco_index_category(const struct coco_index *index, int64_t id);

/* Never NULL; "" if there is none. */
const char *coco_index_name(const struct coco_index *index, uint64_t name);

/* Writes the path of an image's file in FOLDER. A missing name, an absolute one or one with a part
 * ".." is an error that names path, id, key and value: annotations must not choose files
 * elsewhere. */
int coco_index_picture(const struct coco_index *index, const struct coco_image *image,
                       const char *folder, char *ret, size_t size, struct error *err);

/* Returns the outline of an annotation; kind NONE if it has none or the index is damaged there. */
struct coco_segment coco_index_segment(const struct coco_index *index,
                                       const struct coco_annotation *annotation);

/* Makes the mask of an annotation; the error names its id. */
int coco_index_mask(const struct coco_index *index, const struct coco_annotation *annotation,
                    struct coco_outline *room, struct rle_scratch *scratch, struct rle *ret,
                    struct error *err);

#define cleanup_coco_index __attribute__((cleanup(coco_index_done)))

#endif
