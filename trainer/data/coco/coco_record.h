/* Reader of one annotation or detection in JSON.
 *
 * Objects of "annotations" and those of a result list have the same keys, so that one reader serves
 * both. */
#ifndef TRAINER_DATA_COCO_COCO_RECORD_H
#define TRAINER_DATA_COCO_COCO_RECORD_H

#include "common/buf.h"
#include "common/error.h"
#include "common/json/json_stream.h"
#include "trainer/data/coco/coco_segment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys that were present; null counts as absent, and so does an empty "bbox". */
enum {
    COCO_HAS_ID = 1,
    COCO_HAS_IMAGE = 2,
    COCO_HAS_CATEGORY = 4,
    COCO_HAS_BOX = 8,
    COCO_HAS_AREA = 16,
    COCO_HAS_SCORE = 32,
    COCO_BOXES_ALONE = 64, /* for NEEDS: skip the outline, whatever it contains */
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
    size_t segment; /* offset of its packed outline in the buffer */
    size_t segment_size;
};

/* Reads one object and appends its outline to SEGMENTS. NEEDS are required keys (bits above), and
 * COCO_BOXES_ALONE. Unknown keys are skipped. */
int coco_record_read(struct json_stream *s, struct coco_outline *room, struct buf *segments,
                     unsigned needs, struct coco_record *ret, struct error *err);

enum coco_id { COCO_ID_NONE, COCO_ID_FOUND, COCO_ID_UNREADABLE };

/* For error messages: finds the "id" of the object at byte OFFSET of file PATH, even if the rest
 * of it is damaged. */
enum coco_id coco_record_find_id(const char *path, uint64_t offset, int64_t *ret);

#endif
