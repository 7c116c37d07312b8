/* Counts, with a few examples each, of what a check of annotations finds. */
#ifndef TRAINER_DATA_COCO_COCO_FINDINGS_H
#define TRAINER_DATA_COCO_COCO_FINDINGS_H

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

/* Counts one more of KIND, with its ID. */
void coco_findings_add(struct coco_finding findings[COCO_FINDINGS], enum coco_finding_kind kind,
                       int64_t id);

#endif
