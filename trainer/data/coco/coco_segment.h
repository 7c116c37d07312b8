/* Packed outline of an object.
 *
 * It is the content of "segmentation" in annotations and results, as polygons, as a list of runs or
 * as a string of runs, in a few bytes.
 *
 * Polygons: their number, then for each its size and its numbers. Numbers with at most two decimals
 * (as in COCO) are stored as differences in hundredths, mostly two bytes each; others as doubles.
 * Either restores, bit for bit, the double that the JSON's digits denote. Runs: height, width, and
 * the string of runs. Small numbers are base 128, low groups first.
 *
 * Reading checks everything except that runs add up and that coordinates are within limits, which
 * is checked when a mask is made. Polygons are interpreted as by pycocotools: an odd last
 * coordinate is ignored, and polygons with fewer than four coordinates are left out. If nothing
 * remains ([], [[]], null) the annotation has no outline. */
#ifndef TRAINER_DATA_COCO_COCO_SEGMENT_H
#define TRAINER_DATA_COCO_COCO_SEGMENT_H

#include "common/buf.h"
#include "common/error.h"
#include "common/json/json_stream.h"
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

/* Unpacked polygons; reusable by one thread. Initialize with zeros. */
struct coco_outline {
    double *numbers; /* owned: x, y, x, y..., polygon after polygon */
    uint32_t *sizes; /* owned: how many numbers each polygon has */
    size_t count;    /* number of polygons */
    size_t number_count;
    size_t size_capacity;
    size_t number_capacity;
    struct rle runs;
};

void coco_outline_done(struct coco_outline *outline);

/* Reads the next value of S and appends it, packed, to OUT. */
int coco_segment_read(struct json_stream *s, struct coco_outline *room, struct buf *out,
                      enum coco_segment_kind *ret, struct error *err);

/* Appends a mask, packed as a segment of runs. */
int coco_segment_add_runs(const struct rle *mask, struct buf *out, struct error *err);

/* The run string of a segment as in COCO's JSON (borrowed, no NUL), and its size. Damaged bytes
 * are refused. */
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

/* Makes the mask for a picture of HEIGHT x WIDTH (runs have their own size). */
int coco_segment_mask(const struct coco_segment *segment, struct coco_outline *room,
                      struct rle_scratch *scratch, uint32_t height, uint32_t width, struct rle *ret,
                      struct error *err);

#define cleanup_coco_outline __attribute__((cleanup(coco_outline_done)))

#endif
