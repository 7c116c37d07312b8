#include "trainer/data/coco/coco_task.h"

#include "common/cleanup.h"
#include "trainer/eval/rle_polygon.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Annotations and results as the evaluation in trainer/eval/coco_eval.c wants them: by number
 * instead of id, and without masks. Masks are made by the functions that the lists carry, for one
 * image and category at a time (trainer/eval/coco_match.c), and need not all be in memory at once.
 *
 * pycocotools is the reference, with its oddities, as scores are compared with published ones. In
 * particular, it keeps annotations in a dictionary by id. The last annotation of an id stands for
 * all others with it: it is scored as often as the id occurs, and the others never. */

void coco_task_done(struct coco_task *task) {
    free(task->truth);
    free(task->found);
    free(task->truth_numbers);
    free(task->found_numbers);
    *task = (struct coco_task){0};
}

/* Makes the mask of truth NUMBER. Several threads call it at once: SCRATCH belongs to the calling
 * thread, and the unpacked outline to the call. */
static int truth_mask(const void *user, size_t number, struct rle_scratch *scratch, struct rle *ret,
                      struct error *err) {
    const struct coco_task *task = user;
    cleanup_coco_outline struct coco_outline room = {0};
    const struct coco_annotation *annotation =
        &task->index->annotations[task->truth_numbers[number]];
    if (coco_index_mask(task->index, annotation, &room, scratch, ret, err) != 0)
        return error_wrap(err, "%s", task->index->path);
    return 0;
}

/* Makes the mask of result NUMBER, of its box if it has no outline. Its image is listed: fill_found
 * has refused others. */
static int result_mask(const struct coco_index *index, const struct coco_results *results,
                       size_t number, struct rle_scratch *scratch, struct rle *ret,
                       struct error *err) {
    const struct coco_result *result = &results->list[number];
    const struct coco_image *image = &index->images[coco_index_image(index, result->image_id)];
    struct coco_segment segment = coco_result_segment(results, number);
    cleanup_coco_outline struct coco_outline room = {0};
    int failed =
        segment.kind == COCO_SEGMENT_NONE
            ? rle_from_box(ret, scratch, result->box, image->height, image->width, err)
            : coco_segment_mask(&segment, &room, scratch, image->height, image->width, ret, err);
    return failed == 0 ? 0 : error_wrap(err, "%s: result %zu", results->path, number + 1);
}

/* The evaluation counts the results that are scored; results are left out, so the numbers
 * differ. */
static int found_mask(const void *user, size_t number, struct rle_scratch *scratch, struct rle *ret,
                      struct error *err) {
    const struct coco_task *task = user;
    return result_mask(task->index, task->results, task->found_numbers[number], scratch, ret, err);
}

/* An annotation's id with its place in the JSON, to be sorted by both. */
struct keyed {
    int64_t id;
    uint32_t number;
};

/* Orders by id, and annotations of one id by their place in the JSON, so that the last one of a run
 * is the one that counts. */
static int compare_keyed(const void *a, const void *b) {
    const struct keyed *left = a, *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* Sets STANDS[i] to the annotation that represents annotation i: the last one with its id in the
 * JSON. */
static int find_standing(const struct coco_index *index, uint32_t *stands, struct error *err) {
    size_t count = index->annotation_count;
    cleanup_free struct keyed *keyed = calloc(count + 1, sizeof(*keyed));
    cleanup_free uint32_t *numbers = calloc(count + 1, sizeof(*numbers));
    if (keyed == NULL || numbers == NULL)
        return error_no_memory(err, "annotations by id");
    for (size_t i = 0; i < count; i++) {
        const struct coco_annotation *annotation = &index->annotations[i];
        /* The index file may be foreign: its checksum only shows that it is as it was written. */
        if (annotation->order >= count)
            return error_set(err, EXIT_CODE_DATA, "%s: a damaged index of annotations",
                             index->path);
        keyed[i] = (struct keyed){annotation->id, annotation->order};
        numbers[annotation->order] = (uint32_t)i;
    }
    qsort(keyed, count, sizeof(*keyed), compare_keyed);
    /* From the last to the first: the end of each run of equal ids stands for itself, and the
     * others take over what the one after them has. NUMBERS leads from places in the JSON to the
     * index's numbers. */
    for (size_t i = count; i > 0; i--) {
        bool last = i == count || keyed[i].id != keyed[i - 1].id;
        uint32_t own = numbers[keyed[i - 1].number];
        stands[own] = last ? own : stands[numbers[keyed[i].number]];
    }
    return 0;
}

/* Checks what scoring needs of an annotation; with MASKS its box may be missing. The area is needed
 * in any case, as it decides between small, medium and large objects. */
static int check_truth(const struct coco_index *index, const struct coco_annotation *a, bool masks,
                       struct error *err) {
    if ((a->flags & COCO_ANNOTATION_AREA) == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: annotation %" PRId64
                         ": no \"area\" (the pixels of its mask), by which "
                         "small, medium and large objects are told apart",
                         index->path, a->id);
    if (!masks && (a->flags & COCO_ANNOTATION_BOX) == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: annotation %" PRId64 ": no \"bbox\"",
                         index->path, a->id);
    return 0;
}

/* Counts among the annotations that can be scored, those of listed images. */
int coco_task_ids(const struct coco_index *index, struct coco_task_ids *ret, struct error *err) {
    cleanup_free uint32_t *stands = calloc(index->annotation_count + 1, sizeof(*stands));
    *ret = (struct coco_task_ids){0};
    if (stands == NULL)
        return error_no_memory(err, "annotations to score");
    if (find_standing(index, stands, err) != 0)
        return -1;
    for (size_t i = 0; i < index->placed_count; i++) {
        ret->repeated += stands[i] != i;
        ret->zero += index->annotations[i].id == 0;
    }
    return 0;
}

/* A TEXT of 512 bytes, as in trainer/app/task/detect_data.c, holds the longest sentence. A shorter
 * one is cut. */
void coco_task_ids_text(const struct coco_task_ids *ids, char *text, size_t size) {
    char zero[96] = "";
    text[0] = '\0';
    if (ids->zero > 0)
        (void)snprintf(zero, sizeof(zero), "%zu annotation%s the id 0, which is never matched",
                       ids->zero, ids->zero == 1 ? " has" : "s have");
    if (ids->repeated > 0)
        (void)snprintf(text, size,
                       "%zu annotation%s the id of a later one, which is scored in %s place%s",
                       ids->repeated, ids->repeated == 1 ? " has" : "s have",
                       ids->repeated == 1 ? "its" : "their", ids->zero > 0 ? "; " : "");
    size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s", zero);
    used = strlen(text);
    if (used > 0)
        (void)snprintf(text + used, size - used,
                       "; scores may be too low, as are pycocotools': give annotations different "
                       "ids from 1 on");
}

/* Annotations of unlisted categories are not looked at, as scoring ignores them. */
int coco_task_check(const struct coco_index *index, struct error *err) {
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_rle struct rle mask = {0};
    for (size_t i = 0; i < index->placed_count; i++) {
        const struct coco_annotation *a = &index->annotations[i];
        if (a->category >= index->category_count)
            continue;
        if (check_truth(index, a, false, err) != 0)
            return -1;
        if (coco_index_mask(index, a, &room, &scratch, &mask, err) != 0)
            return error_wrap(err, "%s", index->path);
    }
    return 0;
}

/* Makes the list of truths. Which annotation counts and what it counts as may differ: annotation i
 * is left out by its own category, and what is scored is the one that stands for it. That one may
 * belong to another image; if its image or category is not listed, neither is scored. */
static int fill_truth(struct coco_task *task, bool masks, struct error *err) {
    const struct coco_index *index = task->index;
    cleanup_free uint32_t *stands = calloc(index->annotation_count + 1, sizeof(*stands));
    task->truth = calloc(index->placed_count + 1, sizeof(*task->truth));
    task->truth_numbers = calloc(index->placed_count + 1, sizeof(*task->truth_numbers));
    if (stands == NULL || task->truth == NULL || task->truth_numbers == NULL)
        return error_no_memory(err, "annotations to score");
    if (find_standing(index, stands, err) != 0)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < index->placed_count; i++) {
        const struct coco_annotation *a = &index->annotations[stands[i]];
        if (index->annotations[i].category >= index->category_count ||
            a->image >= index->image_count || a->category >= index->category_count)
            continue;
        if (check_truth(index, a, masks, err) != 0)
            return -1;
        struct coco_object *object = &task->truth[count];
        *object = (struct coco_object){.image = a->image,
                                       .category = a->category,
                                       .crowd = (a->flags & COCO_ANNOTATION_CROWD) != 0,
                                       .id_zero = a->id == 0,
                                       .area = a->area};
        memcpy(object->box, a->box, sizeof(object->box));
        task->truth_numbers[count++] = stands[i];
    }
    /* The task itself is what truth_mask gets. */
    task->input.truth = (struct coco_objects){
        .list = task->truth, .count = count, .mask = truth_mask, .user = task};
    return 0;
}

/* Takes the area of OBJECT from the mask of result NUMBER, and the box, too, if the result has
 * none. MASK is scratch memory. */
static int measure_mask(const struct coco_task *task, size_t number, struct rle_scratch *scratch,
                        struct rle *mask, struct coco_object *object, struct error *err) {
    if (result_mask(task->index, task->results, number, scratch, mask, err) != 0)
        return -1;
    object->area = rle_area(mask);
    if (!task->results->list[number].has_box)
        rle_box(mask, object->box);
    return 0;
}

/* Makes the list of results. The area is the mask's only if results have no boxes, or if masks are
 * scored and the caller wants their area. Each mask is then made here once, and dropped. Results of
 * unlisted categories are counted, not scored. */
static int fill_found(struct coco_task *task, bool masks, enum coco_area_of area,
                      struct error *err) {
    const struct coco_results *results = task->results;
    cleanup_rle_scratch struct rle_scratch scratch = {0};
    cleanup_rle struct rle mask = {0};
    /* pycocotools' loadRes sets the area when it reads a result: the box's where there is one.
     * COCO_AREA_OF_MASK departs from it, at the caller's wish. */
    bool of_mask = !results->boxes || (masks && results->masks && area == COCO_AREA_OF_MASK);
    task->found = calloc(results->count + 1, sizeof(*task->found));
    task->found_numbers = calloc(results->count + 1, sizeof(*task->found_numbers));
    if (task->found == NULL || task->found_numbers == NULL)
        return error_no_memory(err, "results to score");
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct coco_result *result = &results->list[i];
        uint32_t image = coco_index_image(task->index, result->image_id);
        uint32_t category = coco_index_category(task->index, result->category_id);
        /* pycocotools asserts that all images of the results are listed, but drops unknown
         * categories. */
        if (image == COCO_NUMBER_NONE)
            return error_set(err, EXIT_CODE_DATA, "%s: result %zu: image %" PRId64 " is not in %s",
                             results->path, i + 1, result->image_id, task->index->path);
        if (category == COCO_NUMBER_NONE) {
            task->left_out++;
            continue;
        }
        struct coco_object *object = &task->found[count];
        *object = (struct coco_object){.image = image,
                                       .category = category,
                                       .score = result->score,
                                       .area = result->box[2] * result->box[3]};
        memcpy(object->box, result->box, sizeof(object->box));
        if (of_mask && measure_mask(task, i, &scratch, &mask, object, err) != 0)
            return -1;
        task->found_numbers[count++] = (uint32_t)i;
    }
    task->input.found = (struct coco_objects){
        .list = task->found, .count = count, .mask = found_mask, .user = task};
    return 0;
}

/* The lists point to RET itself, for the functions that make masks: that is why a task must not
 * move. */
int coco_task_make(struct coco_task *ret, const struct coco_index *index,
                   const struct coco_results *results, bool masks, enum coco_area_of area,
                   struct error *err) {
    *ret = (struct coco_task){.index = index, .results = results};
    ret->input.image_count = index->image_count;
    ret->input.category_count = index->category_count;
    ret->input.masks = masks;
    if (fill_truth(ret, masks, err) != 0 || fill_found(ret, masks, area, err) != 0) {
        coco_task_done(ret);
        return -1;
    }
    return 0;
}
