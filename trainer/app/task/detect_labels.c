#include "trainer/app/task/detect_labels.h"

#include "common/file/file_look.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

#define PREDICTOR "roi_heads.box_predictor.cls_score.weight"

/* Counts the rows of the predictor in the file, under any prefix; 0: there is none. A resumed run
 * may name a file that does not exist any more. */
static int predictor_rows(const char *path, int64_t *ret, struct error *err) {
    cleanup_safetensors struct safetensors file = {0};
    const size_t tail = strlen(PREDICTOR);
    struct error why = {0};
    *ret = 0;
    if (safetensors_open(&file, path, &why) != 0) {
        if (why.os_errno != 0 && !file_is_absence(why.os_errno))
            return error_set(err, EXIT_CODE_CONFIG, "--init: %s", why.text);
        log_warning("cannot read the classes of --init, so labels are category numbers: %s",
                    why.text);
        return 0;
    }
    for (size_t i = 0; i < file.count; i++) {
        const struct safetensors_entry *entry = &file.entries[i];
        const size_t size = strlen(entry->name);
        if (size >= tail && strcmp(entry->name + size - tail, PREDICTOR) == 0 && entry->rank == 2) {
            *ret = entry->shape[0];
            break;
        }
    }
    return 0;
}

int detect_labels_choose(bool *ret_ids, const struct coco_index *index,
                         const struct task_request *request, struct error *err) {
    const bool first = comm_rank(request->comm) == 0;
    int64_t rows = 0, most = 0;
    *ret_ids = false;
    if (request->options->init == NULL)
        return 0;
    if (first && predictor_rows(request->options->init, &rows, err) != 0)
        return -1;
    if (comm_broadcast(request->comm, &rows, sizeof(rows), 0, err) != 0)
        return -1;
    for (size_t c = 0; c < index->category_count; c++)
        most = index->categories[c].id > most ? index->categories[c].id : most;
    /* One row is that of the background. */
    *ret_ids = rows - 1 == most && rows != (int64_t)index->category_count + 1;
    if (*ret_ids && first)
        log_info("%s has %lld rows of classes: labels are category ids, which go up to %lld",
                 request->options->init, (long long)rows, (long long)most);
    return 0;
}

bool detect_labels_are_ids(const struct model_config *trained) {
    for (size_t c = 0; c < trained->classes; c++)
        if (trained->category_ids[c] < 0)
            return true;
    return false;
}

int detect_labels_name(struct task_data *data, const struct detection_set *set, struct error *err) {
    struct detect_data *d = data->own;
    size_t labels = (size_t)set->labels;
    d->class_names = calloc(labels + 1, sizeof(*d->class_names));
    d->category_ids = calloc(labels + 1, sizeof(*d->category_ids));
    if (d->class_names == NULL || d->category_ids == NULL)
        return error_no_memory(err, "classes");
    data->class_names = d->class_names;
    data->classes = labels;
    for (size_t c = 0; c < labels; c++) {
        uint32_t category = detection_set_category(set, (int32_t)c + 1);
        const char *name = category == COCO_NUMBER_NONE
                               ? ""
                               : coco_index_name(set->index, set->index->categories[category].name);
        d->category_ids[c] =
            category == COCO_NUMBER_NONE ? -1 : set->index->categories[category].id;
        d->class_names[c] = strdup(name);
        if (d->class_names[c] == NULL)
            return error_no_memory(err, "classes");
    }
    return 0;
}

/* Returns a category of A that B has not by its id, or NULL. */
static const struct coco_category *lacking(const struct coco_index *a, const struct coco_index *b) {
    for (size_t i = 0; i < a->category_count; i++) {
        bool there = false;
        for (size_t k = 0; k < b->category_count && !there; k++)
            there = a->categories[i].id == b->categories[k].id;
        if (!there)
            return &a->categories[i];
    }
    return NULL;
}

/* A and B have categories with other ids, as there are more of one. */
static int refuse_counts(const struct detect_part *a, const struct detect_part *b,
                         struct error *err) {
    const bool more = a->index.category_count > b->index.category_count;
    const struct detect_part *with = more ? a : b, *without = more ? b : a;
    const struct coco_category *extra = lacking(&with->index, &without->index);
    return error_set(err, EXIT_CODE_DATA,
                     "%s has %zu categories, but %s has %zu: '%.64s' (id %lld) is not in it; both "
                     "must list the same ones",
                     with->json, with->index.category_count, without->json,
                     without->index.category_count,
                     extra != NULL ? coco_index_name(&with->index, extra->name) : "?",
                     extra != NULL ? (long long)extra->id : -1LL);
}

int detect_labels_agree(const struct detect_part *a, const struct detect_part *b,
                        struct error *err) {
    if (a->index.category_count != b->index.category_count)
        return refuse_counts(a, b, err);
    for (size_t c = 0; c < a->index.category_count; c++) {
        const struct coco_category *one = &a->index.categories[c], *two = &b->index.categories[c];
        if (one->id != two->id || strcmp(coco_index_name(&a->index, one->name),
                                         coco_index_name(&b->index, two->name)) != 0)
            return error_set(err, EXIT_CODE_DATA,
                             "category %lld is '%.64s' in %s, but category %lld '%.64s' in %s",
                             (long long)one->id, coco_index_name(&a->index, one->name), a->json,
                             (long long)two->id, coco_index_name(&b->index, two->name), b->json);
    }
    return 0;
}

int detect_labels_fit(const struct task_data *data, const struct model_config *trained,
                      const char *json, struct error *err) {
    const struct detect_data *d = data->own;
    if (data->classes != trained->classes)
        return error_set(err, EXIT_CODE_DATA, "%s has %zu categories, but the model has %zu", json,
                         data->classes, trained->classes);
    for (size_t c = 0; c < data->classes; c++)
        if (d->category_ids[c] != trained->category_ids[c] ||
            strcmp(d->class_names[c], trained->class_names[c]) != 0)
            return error_set(
                err, EXIT_CODE_DATA,
                "label %zu is category %lld '%.64s' in %s, but category %lld '%.64s' in the model",
                c + 1, (long long)d->category_ids[c], d->class_names[c], json,
                (long long)trained->category_ids[c], trained->class_names[c]);
    return 0;
}
