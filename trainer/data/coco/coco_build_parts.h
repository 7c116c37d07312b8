/* State of the index conversion, private to it.
 *
 * It holds what is collected while the JSON is read. Its functions write that to the file at the
 * end. */
#ifndef TRAINER_DATA_COCO_COCO_BUILD_PARTS_H
#define TRAINER_DATA_COCO_COCO_BUILD_PARTS_H

#include "common/buf.h"
#include "common/error.h"
#include "common/json/json_stream.h"
#include "trainer/data/coco/coco_file.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_segment.h"

#include <stddef.h>
#include <stdint.h>

/* An image or a category as read. */
struct coco_named {
    int64_t id;
    uint64_t order; /* position in the JSON */
    uint64_t name;
    uint32_t width;
    uint32_t height;
};

struct coco_named_list {
    struct coco_named *items; /* owned */
    size_t count;
    size_t capacity;
};

/* An annotation before images and categories are numbered; they may follow it in the JSON. */
struct coco_pending {
    struct coco_annotation annotation;
    int64_t image_id;
    int64_t category_id;
};

struct coco_builder {
    const char *json;
    int fd; /* borrowed */
    bool keyed;
    unsigned needs; /* of annotations (coco_record.h) */
    uint64_t written;
    struct json_stream stream;
    struct coco_head head;
    struct coco_outline outline;
    struct buf segments; /* read but not yet written */
    uint64_t segments_flushed;
    struct buf names;
    struct coco_named_list images;
    struct coco_named_list categories;
    struct coco_pending *annotations; /* owned */
    size_t annotation_count;
    size_t annotation_capacity;
};

void coco_builder_done(struct coco_builder *b);

int coco_named_add(struct coco_named_list *list, const struct coco_named *item, struct error *err);

/* Reads a picture's width or height. */
int coco_read_side(struct json_stream *s, uint32_t *ret, struct error *err);
/* Reads a name and keeps it; of two for one item the last is used. */
int coco_add_name(struct coco_builder *b, uint64_t *ret, struct error *err);

/* Prepends what a record is, with its id if one can be found, to ERR; returns -1. */
int coco_name_record(const struct coco_builder *b, const char *what, size_t number, uint64_t offset,
                     struct error *err);

int coco_begin_file(struct coco_builder *b, struct error *err);
/* Writes the pending outlines once they are many, or if ALL. */
int coco_flush_segments(struct coco_builder *b, bool all, struct error *err);
/* Sorts, numbers and writes everything else. */
int coco_end_file(struct coco_builder *b, struct error *err);

#endif
