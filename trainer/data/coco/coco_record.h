/* One object of "annotations" or of a result list, read from JSON: the two have the same keys. */
#ifndef TRAINER_DATA_COCO_COCO_RECORD_H
#define TRAINER_DATA_COCO_COCO_RECORD_H

#include "common/buf.h"
#include "common/error.h"
#include "common/json_stream.h"
#include "trainer/data/coco/coco_segment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which keys were there; null counts as absent, an empty "bbox" too. */
enum {
    COCO_HAS_ID = 1,
    COCO_HAS_IMAGE = 2,
    COCO_HAS_CATEGORY = 4,
    COCO_HAS_BOX = 8,
    COCO_HAS_AREA = 16,
    COCO_HAS_SCORE = 32,
    COCO_BOXES_ALONE = 64, /* of needs: the outline is passed over, whatever it is */
};

struct coco_record {
    unsigned has;
    bool crowd;
    enum coco_segment_kind kind;
    int64_t id;
    int64_t image_id;
    int64_t category_id;
    double box[4]; /* x, y, width, height */
    double area;
    double score;
    size_t segment; /* where its packed outline begins in the buffer it was added to */
    size_t segment_size;
};

/* Reads one object; its outline is appended to SEGMENTS. NEEDS are keys (bits above) that must be
 * there, and COCO_BOXES_ALONE. Keys it does not know are skipped. */
int coco_record_read(struct json_stream *s, struct coco_outline *room, struct buf *segments,
                     unsigned needs, struct coco_record *ret, struct error *err);

enum coco_id { COCO_ID_NONE, COCO_ID_FOUND, COCO_ID_UNREADABLE };

/* The "id" of the object that begins at byte OFFSET of file PATH, however damaged the rest of it
 * is: for error messages. */
enum coco_id coco_record_find_id(const char *path, uint64_t offset, int64_t *ret);

#endif
