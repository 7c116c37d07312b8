#include "trainer/data/detect/detection_scores.h"

#include "trainer/data/coco/coco_task.h"
#include "trainer/eval/coco_stats.h"

static int score(const struct coco_index *index, const struct coco_results *results, bool masks,
                 int threads, double ret[COCO_STATS], size_t *ret_left_out, struct error *err) {
    cleanup_coco_task struct coco_task task = {0};
    cleanup_coco_curves struct coco_curves curves = {0};
    enum coco_area_of area = masks ? COCO_AREA_OF_MASK : COCO_AREA_OF_BOX;
    if (coco_task_make(&task, index, results, masks, area, err) != 0)
        return -1;
    task.input.threads = threads;
    *ret_left_out = task.left_out;
    if (coco_eval(&task.input, &curves, err) != 0)
        return -1;
    return coco_stats(&curves, ret, err);
}

int detection_scores(const struct coco_index *index, const struct coco_results *results,
                     int threads, struct detection_scores *ret, struct error *err) {
    *ret = (struct detection_scores){.masks = results->masks};
    if (score(index, results, false, threads, ret->box, &ret->left_out, err) != 0)
        return -1;
    return results->masks ? score(index, results, true, threads, ret->mask, &ret->left_out, err)
                          : 0;
}
