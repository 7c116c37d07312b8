/* COCO annotations in a compact form that can be kept in a file, made once from the JSON.
 *
 * Images and categories come in ascending order of their ids and are numbered so; annotations are
 * grouped by image, in the order of the JSON within each; those whose image is not listed come
 * last. Of ids given twice the last one counts for images and categories, as in pycocotools;
 * annotations with the same id are all kept. Outlines stay packed (coco_segment.h).
 *
 * The index does not change after it was opened and may be read by any number of threads. It is in
 * memory as a whole, so that nothing that becomes of its file is felt. */
#ifndef TRAINER_DATA_COCO_COCO_INDEX_H
#define TRAINER_DATA_COCO_COCO_INDEX_H

#include "common/error.h"
#include "trainer/data/coco/coco_json.h"
#include "trainer/data/coco/coco_segment.h"
#include "trainer/eval/rle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No image or category of that id. */
#define COCO_NUMBER_NONE UINT32_MAX

/* What an annotation says beside the numbers. */
enum { COCO_ANNOTATION_CROWD = 1, COCO_ANNOTATION_BOX = 2, COCO_ANNOTATION_AREA = 4 };

/* The lists of a JSON; bits. */
enum coco_list { COCO_LIST_IMAGES = 1, COCO_LIST_CATEGORIES = 2, COCO_LIST_ANNOTATIONS = 4 };

/* The three below are as they lie in the file. */
struct coco_image {
    int64_t id;
    uint64_t name;  /* offset of the file name in the names */
    uint64_t first; /* its annotations */
    uint32_t count;
    uint32_t width; /* 0 when not given */
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
    uint32_t order; /* in the JSON */
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
    size_t annotation_count; /* all */
    size_t placed_count;     /* those with an image: the first ones */
    const char *names;
    size_t names_size;
    const uint8_t *segments;
    size_t segments_size;
    uint64_t repeated_images; /* ids that came again, when the index was made */
    uint64_t repeated_categories;

    const char *path; /* what to name in errors: borrowed, the JSON or the index file */
    struct coco_key source;
    unsigned lists; /* that the JSON has */

    void *map; /* owned */
    size_t map_size;
};

void coco_index_done(struct coco_index *index);

/* The first of the three lists that the JSON does not have, or NULL. */
const char *coco_index_missing(const struct coco_index *index);

/* The number of an image or category, or COCO_NUMBER_NONE. */
uint32_t coco_index_image(const struct coco_index *index, int64_t id);
uint32_t coco_index_category(const struct coco_index *index, int64_t id);

/* Never NULL; "" when there is none. */
const char *coco_index_name(const struct coco_index *index, uint64_t name);

/* The path of an image's file in FOLDER. An error, which names path, id, key and value, for a name
 * that is none, is absolute or has a part "..": annotations do not choose what else is read. */
int coco_index_picture(const struct coco_index *index, const struct coco_image *image,
                       const char *folder, char *ret, size_t size, struct error *err);

/* The outline of an annotation; kind NONE where it has none or the index is damaged there. */
struct coco_segment coco_index_segment(const struct coco_index *index,
                                       const struct coco_annotation *annotation);

/* The mask of an annotation; the error names its id. */
int coco_index_mask(const struct coco_index *index, const struct coco_annotation *annotation,
                    struct coco_outline *room, struct rle_brush *brush, struct rle *ret,
                    struct error *err);

#define cleanup_coco_index __attribute__((cleanup(coco_index_done)))

#endif
