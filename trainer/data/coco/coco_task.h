/* Input of the evaluation from annotations and results.
 *
 * Pycocotools' rules hold: annotations and results of unlisted categories are ignored, and so are
 * annotations of unlisted images; a result for an unlisted image is an error. Annotations with the
 * same id are all represented by the last one. */
#ifndef TRAINER_DATA_COCO_COCO_TASK_H
#define TRAINER_DATA_COCO_COCO_TASK_H

#include "common/error.h"
#include "trainer/data/coco/coco_index.h"
#include "trainer/data/coco/coco_results.h"
#include "trainer/eval/coco_eval.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum coco_area_of { COCO_AREA_OF_BOX, COCO_AREA_OF_MASK };

struct coco_task {
    struct coco_input input;   /* input of coco_eval; valid as long as the task */
    size_t left_out;           /* results of unlisted categories */
    struct coco_object *truth; /* owned, like all below */
    struct coco_object *found;
    uint32_t *truth_numbers;        /* numbers of annotations in the index */
    uint32_t *found_numbers;        /* numbers of results */
    const struct coco_index *index; /* borrowed, both */
    const struct coco_results *results;
};

void coco_task_done(struct coco_task *task);

/* INDEX and RESULTS must outlive the task, which must not move. AREA determines the area of a
 * detection with both box and mask when masks are scored: pycocotools uses the box's. Errors name
 * the file and the annotation's id or the result's number. */
int coco_task_make(struct coco_task *ret, const struct coco_index *index,
                   const struct coco_results *results, bool masks, enum coco_area_of area,
                   struct error *err);

/* Checks, before there are results, that INDEX can be scored, with boxes and masks; fails with the
 * errors that scoring would have. Makes each mask once. */
int coco_task_check(const struct coco_index *index, struct error *err);

/* Annotations with ids that mislead pycocotools, and thus also this evaluation, which has the same
 * numbers. */
struct coco_task_ids {
    size_t repeated; /* another one, with the same id and later in the list, represents them */
    size_t zero;     /* with id 0: a detection matched with them counts as unmatched */
};
int coco_task_ids(const struct coco_index *index, struct coco_task_ids *ret, struct error *err);
/* Writes one sentence without the file's name; "" if there are none. */
void coco_task_ids_text(const struct coco_task_ids *ids, char *text, size_t size);

#define cleanup_coco_task __attribute__((cleanup(coco_task_done)))

#endif
