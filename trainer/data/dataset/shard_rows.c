#include "trainer/data/dataset/shard_rows.h"

#include "common/cleanup.h"
#include "common/grow.h"
#include "trainer/data/dataset/folder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A table with one row for each sample, in two phases. A scan, or an index, adds rows in the order
 * of the shards. Then shards.c settles the class of each row, with functions of this file if
 * folders or a list of labels tell it. Last, rows are ordered like the files of a folder.
 *
 * Names are kept in one block, and rows have offsets into it. A prefix is removed by moving an
 * offset, and sorting moves rows of a fixed size alone. */

/* Most bytes of all names: about 170 for each of FOLDER_SAMPLES_MAX samples. */
static const size_t names_max = (size_t)16 << 30;

void shard_rows_init(struct shard_rows *rows) {
    *rows = (struct shard_rows){0};
    buf_init(&rows->names, names_max);
}

/* ROWS need shard_rows_init before they are used again. */
void shard_rows_done(struct shard_rows *rows) {
    free(rows->items);
    buf_done(&rows->names);
    name_table_done(&rows->classes);
    *rows = (struct shard_rows){0};
}

/* Makes room for one more row; fails at the limit of a set's samples. */
static int make_room(struct shard_rows *rows, struct error *err) {
    if (rows->count >= FOLDER_SAMPLES_MAX)
        return error_set(err, EXIT_CODE_DATA, "more than %d pictures", FOLDER_SAMPLES_MAX);
    return grow_array(&rows->items, &rows->room, rows->count + 1, sizeof(*rows->items),
                      "a list of samples", err);
}

/* Appends a sample's name with its NUL. A sample without a name of its own has its number, in
 * digits that sort as the number does. */
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

/* Texts are valid during the call alone, and are copied. After a failure the table is still
 * consistent, but may hold the name of a row that was not added. */
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

/* Valid until the next row is added, as the block may move. */
static char *name_of(const struct shard_rows *rows, size_t i) {
    return rows->names.data + rows->items[i].name_at;
}

/* Removes the first folder of all names, if it is the same one and folders remain:
 * "data/train/cat/1.jpg" has its class in the third component. Two passes, so that nothing changes
 * if one name differs. */
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

/* Does nothing if some rows have no name of their own; the caller then reports that classes are
 * missing. */
int shard_rows_name_by_path(struct shard_rows *rows, struct error *err) {
    if (rows->count == 0 || rows->pathed < rows->count)
        return 0;
    /* Each round removes one component; the last folder of a name always remains. */
    while (strip_common_folder(rows))
        ;
    for (size_t i = 0; i < rows->count; i++) {
        const char *name = name_of(rows, i);
        const char *slash = strchr(name, '/');
        /* An absolute path has an empty first component, which names no class. */
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

/* Order of picture_labels, by the whole name. */
static int compare_by_name(const void *a, const void *b, void *names) {
    const struct shard_row *x = a;
    const struct shard_row *y = b;
    return strcmp((const char *)names + x->name_at, (const char *)names + y->name_at);
}

/* Both lists are sorted by name, so that row i usually has label i. Labels in the records are
 * dropped: the file of labels was given to replace them. */
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
        /* The class has a name now, and a number of the record would contradict it. */
        rows->items[i].label = SHARD_NO_LABEL;
    }
    rows->named = rows->count;
    rows->labelled = 0;
    return 0;
}

/* --- order ----------------------------------------------------------------------------------- */

/* Bytes of the folder of a name, without the last slash; 0 without a folder. */
static size_t folder_size(const char *name) {
    const char *slash = strrchr(name, '/');
    return slash != NULL ? (size_t)(slash - name) : 0;
}

/* As folder_walk.c: by class, by folder, by name, so that a set in shards has the order of the
 * folder that it was made from. 0 only for two samples of one class and name. */
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

/* Removes the folder of its class from each name, if all names begin with it: dataset_sample_name
 * and the hash have paths below the class folder. */
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

/* Puts the row with the id I in place I, if each has one. Ids that repeat or leave gaps are no
 * order, and the rows stay in that of the shards. */
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
    /* One of the two arrays is left, in either order; `room` is no more than the new one has. */
    free(all ? rows->items : sorted);
    if (all) {
        rows->items = sorted;
        rows->room = rows->count;
    }
    return 0;
}

/* Sorts a copy, and keeps it if no two names of a class are equal. Samples of equal names have no
 * order of their own, and then that of the shards stays. */
static int order_by_name(struct shard_rows *rows, struct error *err) {
    struct shard_row *sorted = malloc((rows->count + 1) * sizeof(*sorted));
    if (sorted == NULL)
        return error_no_memory(err, "a list of samples");
    memcpy(sorted, rows->items, rows->count * sizeof(*sorted));
    qsort_r(sorted, rows->count, sizeof(*sorted), compare, rows->names.data);
    rows->ordered = true;
    /* Neighbours that compare as equal are the only rows without a fixed order. */
    for (size_t i = 1; i < rows->count && rows->ordered; i++)
        rows->ordered = compare(&sorted[i - 1], &sorted[i], rows->names.data) != 0;
    free(rows->ordered ? rows->items : sorted);
    if (rows->ordered) {
        rows->items = sorted;
        rows->room = rows->count;
    }
    return 0;
}

/* The labels are indices of CLASS_NAMES by now. Rows of which only some have a name keep the order
 * of the shards. */
int shard_rows_order(struct shard_rows *rows, char *const *class_names, struct error *err) {
    if (rows->pathed == 0)
        return order_by_id(rows, err);
    if (rows->pathed < rows->count)
        return 0;
    strip_class_folder(rows, class_names);
    return order_by_name(rows, err);
}
