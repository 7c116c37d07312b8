/* Checks of a COCO data set, with statistics.
 *
 * They look for what disturbs training or scoring. Findings are not errors: the data set can still
 * be used, and the caller decides. */
#ifndef TRAINER_DATA_COCO_COCO_CHECK_H
#define TRAINER_DATA_COCO_COCO_CHECK_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/coco/coco_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum coco_finding_kind {
    COCO_REPEATED_IMAGES,
    COCO_REPEATED_CATEGORIES,
    COCO_REPEATED_NAMES,
    COCO_REPEATED_ANNOTATIONS,
    COCO_UNKNOWN_IMAGE,
    COCO_UNKNOWN_CATEGORY,
    COCO_ZERO_ID,
    COCO_NO_BOX,
    COCO_NO_AREA,
    COCO_NO_OUTLINE,
    COCO_DEGENERATE_BOX,
    COCO_BOX_OUTSIDE,
    COCO_BOX_MISFIT,
    COCO_BAD_OUTLINE,
    COCO_AREA_MISMATCH,
    COCO_NO_SIZE,
    COCO_NO_FILE,
    COCO_BAD_FILE,
    COCO_OTHER_SIZE,
    COCO_FINDINGS
};

enum { COCO_EXAMPLES = 5 };

struct coco_finding {
    size_t count;
    int64_t examples[COCO_EXAMPLES]; /* ids of the first ones; not kept for repeated images and
                                        categories */
};

struct coco_check {
    const char *missing; /* the first missing list, or NULL */
    struct coco_finding findings[COCO_FINDINGS];
    size_t crowds;
    size_t polygons; /* annotations with polygons, and with run lengths */
    size_t runs;
    size_t empty_images;
    size_t empty_categories;
    size_t sizes[3];        /* objects: small, medium, large by their area */
    uint32_t most;          /* annotations of one image */
    uint32_t least_side[2]; /* width, height */
    uint32_t most_side[2];
    size_t *by_category; /* owned: annotations */
};

/* Counts one more of KIND, with its ID. */
void coco_findings_add(struct coco_finding findings[COCO_FINDINGS], enum coco_finding_kind kind,
                       int64_t id);

void coco_check_done(struct coco_check *check);

/* PICTURES is the folder of the images' files, or NULL to skip them. Decodes all files, on all
 * cores that OpenMP gives. */
int coco_check_make(struct coco_check *ret, const struct coco_index *index, const char *pictures,
                    struct error *err);

/* Returns true if a finding makes training or scoring fail or go wrong. Odd boxes, outlines and
 * areas do not count: COCO itself has them. */
bool coco_check_broken(const struct coco_check *check);

/* Appends the report as text. */
int coco_check_print(const struct coco_check *check, const struct coco_index *index,
                     struct buf *out, struct error *err);

#define cleanup_coco_check __attribute__((cleanup(coco_check_done)))

#endif
