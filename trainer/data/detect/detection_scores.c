#include "trainer/data/detect/detection_scores.h"

#include "common/cleanup.h"
#include "trainer/data/coco/coco_task.h"
#include "trainer/eval/coco_stats.h"

#include <stdlib.h>

int detection_scores_categories(const struct coco_index *index, struct coco_report_category **ret,
                                struct error *err) {
    struct coco_report_category *list = calloc(index->category_count + 1, sizeof(*list));
    if (list == NULL)
        return error_no_memory(err, "categories");
    for (size_t c = 0; c < index->category_count; c++)
        list[c] =
            (struct coco_report_category){.name = coco_index_name(index, index->categories[c].name),
                                          .id = index->categories[c].id};
    for (size_t i = 0; i < index->placed_count; i++) {
        const struct coco_annotation *a = &index->annotations[i];
        if (a->category < index->category_count && (a->flags & COCO_ANNOTATION_CROWD) == 0)
            list[a->category].objects++;
    }
    *ret = list;
    return 0;
}

/* In place of those of boxes, if there are some. */
static int add_by_category(const struct coco_report *report, struct buf *out, struct error *err) {
    buf_consume(out, out->size);
    for (size_t c = 0; c < report->category_count; c++)
        if (buf_add(out, &report->by_category[c][0], sizeof(double), err) != 0)
            return -1;
    return 0;
}

static int add_table(const struct coco_index *index, const struct coco_curves *curves, bool masks,
                     struct buf *table, struct buf *by_category, struct error *err) {
    cleanup_coco_report struct coco_report report = {0};
    cleanup_free struct coco_report_category *categories = NULL;
    const char *kind = masks ? "segm" : "bbox";
    if (detection_scores_categories(index, &categories, err) != 0 ||
        coco_report_make(&report, kind, curves, categories, err) != 0 ||
        buf_printf(table, err, "%s by category\n", kind) != 0)
        return -1;
    if (by_category != NULL && add_by_category(&report, by_category, err) != 0)
        return -1;
    return coco_report_table(&report, table, err);
}

static int score(const struct coco_index *index, const struct coco_results *results, bool masks,
                 int threads, double ret[COCO_STATS], size_t *ret_left_out, struct buf *table,
                 struct buf *by_category, struct error *err) {
    cleanup_coco_task struct coco_task task = {0};
    cleanup_coco_curves struct coco_curves curves = {0};
    enum coco_area_of area = masks ? COCO_AREA_OF_MASK : COCO_AREA_OF_BOX;
    if (coco_task_make(&task, index, results, masks, area, err) != 0)
        return -1;
    task.input.threads = threads;
    *ret_left_out = task.left_out;
    if (coco_eval(&task.input, &curves, err) != 0 || coco_stats(&curves, ret, err) != 0)
        return -1;
    return table != NULL ? add_table(index, &curves, masks, table, by_category, err) : 0;
}

int detection_scores(const struct coco_index *index, const struct coco_results *results,
                     int threads, struct detection_scores *ret, struct buf *table,
                     struct buf *by_category, struct error *err) {
    *ret = (struct detection_scores){.masks = results->masks};
    if (score(index, results, false, threads, ret->box, &ret->left_out, table, by_category, err) !=
        0)
        return -1;
    return results->masks ? score(index, results, true, threads, ret->mask, &ret->left_out, table,
                                  by_category, err)
                          : 0;
}
