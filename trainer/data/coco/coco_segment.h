/* An object's outline, packed into a few bytes: what annotations and results say under
 * "segmentation", as polygons, as a list of runs or as a string of runs.
 *
 * Polygons: their number, then for each its size and its numbers. Numbers with at most two decimals
 * (COCO's) are kept as differences in hundredths, two bytes each mostly; others as doubles. Either
 * gives back the double that the JSON's digits name, to the bit. Runs: height, width, and the
 * string of runs. Small numbers are base 128, low groups first.
 *
 * Reading checks everything but that runs add up and that coordinates are within reach, which the
 * making of a mask does. Polygons are read as pycocotools reads them: of an odd number of
 * coordinates the last does not count, and what has fewer than four of them is left out. Outlines
 * of which nothing is left ([], [[]], null) count as none. */
#ifndef TRAINER_DATA_COCO_COCO_SEGMENT_H
#define TRAINER_DATA_COCO_COCO_SEGMENT_H

#include "common/buf.h"
#include "common/error.h"
#include "common/json_stream.h"
#include "trainer/eval/rle.h"
#include "trainer/eval/rle_polygon.h"

#include <stddef.h>
#include <stdint.h>

enum coco_segment_kind { COCO_SEGMENT_NONE, COCO_SEGMENT_POLYGONS, COCO_SEGMENT_RUNS };

enum {
    COCO_PARTS_MAX = 1 << 16, /* polygons of one object */
    COCO_NUMBERS_MAX = 1 << 22,
};

struct coco_segment {
    enum coco_segment_kind kind;
    const uint8_t *bytes; /* borrowed */
    size_t size;
};

/* Unpacked polygons; used again and again by one thread. Zeroed is ready. */
struct coco_outline {
    double *numbers; /* owned: x, y, x, y... of one polygon behind the other */
    uint32_t *sizes; /* owned: how many numbers each polygon has */
    size_t count;    /* polygons */
    size_t number_count;
    size_t size_capacity;
    size_t number_capacity;
    struct rle runs;
};

void coco_outline_done(struct coco_outline *outline);

/* Reads the value that S stands before and appends it, packed, to OUT. */
int coco_segment_read(struct json_stream *s, struct coco_outline *room, struct buf *out,
                      enum coco_segment_kind *ret, struct error *err);

/* Appends a mask, packed as a segment of runs. */
int coco_segment_add_runs(const struct rle *mask, struct buf *out, struct error *err);

/* The string of a segment of runs as COCO's JSON has it (borrowed, no NUL), and its size. Damaged
 * bytes are refused. */
struct coco_runs {
    const char *text;
    size_t length;
    uint32_t height;
    uint32_t width;
};
int coco_segment_runs(const struct coco_segment *segment, struct coco_runs *ret, struct error *err);

/* Unpacks a segment of polygons. Damaged bytes are refused. */
int coco_segment_outline(const struct coco_segment *segment, struct coco_outline *ret,
                         struct error *err);

/* The mask, for a picture of HEIGHT x WIDTH (runs bring their own size). */
int coco_segment_mask(const struct coco_segment *segment, struct coco_outline *room,
                      struct rle_brush *brush, uint32_t height, uint32_t width, struct rle *ret,
                      struct error *err);

#define cleanup_coco_outline __attribute__((cleanup(coco_outline_done)))

#endif
