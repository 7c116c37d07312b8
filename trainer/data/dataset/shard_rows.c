#include "trainer/data/dataset/shard_rows.h"

#include "common/cleanup.h"
#include "common/grow.h"
#include "trainer/data/dataset/folder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Names of samples, in bytes. */
static const size_t names_max = (size_t)16 << 30;

void shard_rows_init(struct shard_rows *rows) {
    *rows = (struct shard_rows){0};
    buf_init(&rows->names, names_max);
}

void shard_rows_done(struct shard_rows *rows) {
    free(rows->items);
    buf_done(&rows->names);
    name_table_done(&rows->classes);
    *rows = (struct shard_rows){0};
}

static int make_room(struct shard_rows *rows, struct error *err) {
    if (rows->count >= FOLDER_SAMPLES_MAX)
        return error_set(err, EXIT_CODE_DATA, "more than %d pictures", FOLDER_SAMPLES_MAX);
    return grow_array(&rows->items, &rows->room, rows->count + 1, sizeof(*rows->items),
                      "a list of samples", err);
}

/* A sample without a name of its own has its number, in digits that sort as the number does. */
static int add_name(struct shard_rows *rows, struct shard_text name, struct error *err) {
    if (name.size == 0)
        return buf_printf(&rows->names, err, "%08zu", rows->count) != 0
                   ? -1
                   : buf_add(&rows->names, "", 1, err);
    rows->pathed++;
    return buf_add(&rows->names, name.bytes, name.size, err) != 0
               ? -1
               : buf_add(&rows->names, "", 1, err);
}

int shard_rows_add(struct shard_rows *rows, uint32_t shard, const struct shard_sample *sample,
                   struct error *err) {
    if (make_room(rows, err) != 0)
        return -1;
    struct shard_row *row = &rows->items[rows->count];
    *row = (struct shard_row){
        .place = {sample->offset, (uint32_t)sample->bytes, shard},
        .picture_bytes = sample->picture_bytes,
        .label = sample->label,
        .class_name = -1,
        .name_at = rows->names.size,
        .id = sample->id,
    };
    /* A text with a NUL in it ends there. */
    struct shard_text name = {
        sample->name.bytes,
        strnlen(sample->name.bytes != NULL ? sample->name.bytes : "", sample->name.size)};
    const size_t class_size = strnlen(
        sample->class_name.bytes != NULL ? sample->class_name.bytes : "", sample->class_name.size);
    if (class_size > 0 && name_table_number(&rows->classes, sample->class_name.bytes, class_size,
                                            &row->class_name, err) != 0)
        return -1;
    if (add_name(rows, name, err) != 0)
        return -1;
    rows->labelled += row->label != SHARD_NO_LABEL;
    rows->named += row->class_name >= 0;
    rows->count++;
    return 0;
}

static char *name_of(const struct shard_rows *rows, size_t i) {
    return rows->names.data + rows->items[i].name_at;
}

/* Removes the first folder of all names, if it is the same one and folders remain. */
static bool strip_common_folder(struct shard_rows *rows) {
    const char *first = name_of(rows, 0);
    const char *slash = strchr(first, '/');
    if (slash == NULL)
        return false;
    const size_t size = (size_t)(slash - first) + 1;
    for (size_t i = 0; i < rows->count; i++) {
        const char *name = name_of(rows, i);
        if (strncmp(name, first, size) != 0 || strchr(name + size, '/') == NULL)
            return false;
    }
    for (size_t i = 0; i < rows->count; i++)
        rows->items[i].name_at += size;
    return true;
}

int shard_rows_name_by_path(struct shard_rows *rows, struct error *err) {
    if (rows->count == 0 || rows->pathed < rows->count)
        return 0;
    while (strip_common_folder(rows))
        ;
    for (size_t i = 0; i < rows->count; i++) {
        const char *name = name_of(rows, i);
        const char *slash = strchr(name, '/');
        if (slash == NULL || slash == name)
            return error_set(err, EXIT_CODE_DATA,
                             "%.200s: no class; expected KEY.cls, KEY.json or KEY.index beside the "
                             "picture, or its class as a folder",
                             name);
        if (name_table_number(&rows->classes, name, (size_t)(slash - name),
                              &rows->items[i].class_name, err) != 0)
            return -1;
        rows->named++;
    }
    return 0;
}

static int compare_by_name(const void *a, const void *b, void *names) {
    const struct shard_row *x = a;
    const struct shard_row *y = b;
    return strcmp((const char *)names + x->name_at, (const char *)names + y->name_at);
}

int shard_rows_name_by_labels(struct shard_rows *rows, const struct picture_labels *labels,
                              struct error *err) {
    if (rows->pathed < rows->count || labels->count != rows->count)
        return error_set(err, EXIT_CODE_DATA, "%zu pictures with names, and classes of %zu",
                         rows->pathed, labels->count);
    qsort_r(rows->items, rows->count, sizeof(*rows->items), compare_by_name, rows->names.data);
    for (size_t i = 0; i < rows->count; i++) {
        const char *class_name = picture_labels_find(labels, name_of(rows, i), i);
        if (class_name == NULL)
            return error_set(err, EXIT_CODE_DATA, "%.200s: no class is given for it",
                             name_of(rows, i));
        if (name_table_number(&rows->classes, class_name, strlen(class_name),
                              &rows->items[i].class_name, err) != 0)
            return -1;
        rows->items[i].label = SHARD_NO_LABEL;
    }
    rows->named = rows->count;
    rows->labelled = 0;
    return 0;
}

/* --- order ----------------------------------------------------------------------------------- */

static size_t folder_size(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash != NULL ? (size_t)(slash - name) : 0;
}

/* As folder_walk.c: by class, by folder, by name. */
static int compare(const void *a, const void *b, void *names) {
    const struct shard_row *x = a;
    const struct shard_row *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    const char *p = (const char *)names + x->name_at;
    const char *q = (const char *)names + y->name_at;
    const size_t folder = folder_size(p);
    const size_t other = folder_size(q);
    int order = memcmp(p, q, folder < other ? folder : other);
    if (order == 0 && folder != other)
        order = folder < other ? -1 : 1;
    return order != 0 ? order : strcmp(p + folder, q + other);
}

/* Removes the folder of its class from each name, if all names begin with it. */
static void strip_class_folder(struct shard_rows *rows, char *const *class_names) {
    for (size_t i = 0; i < rows->count; i++) {
        const char *name = name_of(rows, i);
        const char *folder = class_names[rows->items[i].label];
        const size_t size = strlen(folder);
        if (strncmp(name, folder, size) != 0 || name[size] != '/')
            return;
    }
    for (size_t i = 0; i < rows->count; i++)
        rows->items[i].name_at += strlen(class_names[rows->items[i].label]) + 1;
}

/* Puts the row with the id I in place I, if each has one. */
static int order_by_id(struct shard_rows *rows, struct error *err) {
    struct shard_row *sorted = calloc(rows->count + 1, sizeof(*sorted));
    cleanup_free bool *taken = calloc(rows->count + 1, sizeof(*taken));
    bool all = sorted != NULL && taken != NULL;
    if (!all) {
        free(sorted);
        return error_no_memory(err, "a list of samples");
    }
    for (size_t i = 0; i < rows->count && all; i++) {
        const uint64_t id = rows->items[i].id;
        all = id < rows->count && !taken[id];
        if (all) {
            sorted[id] = rows->items[i];
            taken[id] = true;
        }
    }
    free(all ? rows->items : sorted);
    if (all) {
        rows->items = sorted;
        rows->room = rows->count;
    }
    return 0;
}

static int order_by_name(struct shard_rows *rows, struct error *err) {
    struct shard_row *sorted = malloc((rows->count + 1) * sizeof(*sorted));
    if (sorted == NULL)
        return error_no_memory(err, "a list of samples");
    memcpy(sorted, rows->items, rows->count * sizeof(*sorted));
    qsort_r(sorted, rows->count, sizeof(*sorted), compare, rows->names.data);
    rows->ordered = true;
    for (size_t i = 1; i < rows->count && rows->ordered; i++)
        rows->ordered = compare(&sorted[i - 1], &sorted[i], rows->names.data) != 0;
    free(rows->ordered ? rows->items : sorted);
    if (rows->ordered) {
        rows->items = sorted;
        rows->room = rows->count;
    }
    return 0;
}

int shard_rows_order(struct shard_rows *rows, char *const *class_names, struct error *err) {
    if (rows->pathed == 0)
        return order_by_id(rows, err);
    if (rows->pathed < rows->count)
        return 0;
    strip_class_folder(rows, class_names);
    return order_by_name(rows, err);
}
