/* Annotations and results brought into the form that the evaluation takes, with pycocotools'
 * rules: annotations and results of categories that are not listed do not count, nor do
 * annotations of images that are not; a result for an image that is not listed is an error; of
 * annotations with one id the last one stands for all. */
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
    struct coco_input input;   /* ready for coco_eval; lives as long as the task */
    size_t left_out;           /* results of categories that are not listed */
    struct coco_object *truth; /* owned, like all below */
    struct coco_object *found;
    uint32_t *truth_numbers;        /* of annotations in the index */
    uint32_t *found_numbers;        /* of results */
    const struct coco_index *index; /* borrowed, both */
    const struct coco_results *results;
};

void coco_task_done(struct coco_task *task);

/* INDEX and RESULTS must outlive the task, which must stay where it is. AREA says what a
 * detection's area is where it has both box and mask and masks are scored: pycocotools takes the
 * box's. Errors name the file and the annotation's id or the result's
 * number. */
int coco_task_make(struct coco_task *ret, const struct coco_index *index,
                   const struct coco_results *results, bool masks, enum coco_area_of area,
                   struct error *err);

/* Whether all that INDEX says can be scored, boxes and masks, before there are results: the errors
 * are those that scoring would end with. Makes every mask once. */
int coco_task_check(const struct coco_index *index, struct error *err);

/* Annotations whose ids mislead pycocotools, and us as its numbers are ours. */
struct coco_task_ids {
    size_t repeated; /* another one stands for them: it has their id and comes later */
    size_t zero;     /* of id 0: what is matched with them counts as not matched */
};
int coco_task_ids(const struct coco_index *index, struct coco_task_ids *ret, struct error *err);
/* One sentence without the file's name; "" where there are none. */
void coco_task_ids_text(const struct coco_task_ids *ids, char *text, size_t size);

#define cleanup_coco_task __attribute__((cleanup(coco_task_done)))

#endif
