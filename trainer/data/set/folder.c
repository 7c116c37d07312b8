#include "set/folder.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "set/folder_walk.h"

#include <stdlib.h>
#include <string.h>

/* Room for the files of one more class; names are packed into one block. */
static int reserve_samples(struct dataset *set, const struct listing *files, size_t names_size,
                           struct error *err) {
    size_t extra = 0;
    for (size_t i = 0; i < files->count; i++)
        extra += strlen(files->items[i].path) + 1;
    size_t count = set->count + files->count;
    if (count > DATASET_SAMPLES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: more than %d pictures", set->root,
                         DATASET_SAMPLES_MAX);
    int32_t *labels = realloc(set->labels, count * sizeof(*labels));
    if (labels != NULL)
        set->labels = labels;
    size_t *name_at = realloc(set->name_at, count * sizeof(*name_at));
    if (name_at != NULL)
        set->name_at = name_at;
    char *names = realloc(set->names, names_size + extra);
    if (names != NULL)
        set->names = names;
    if (labels == NULL || name_at == NULL || names == NULL)
        return error_no_memory(err, "listing files");
    return 0;
}

static void hash_text(struct dataset *set, const char *text) {
    set->hash = str_hash(set->hash, text, strlen(text) + 1);
}

static int add_class(struct dataset *set, size_t label, size_t *names_size, struct error *err) {
    const char *name = set->class_names[label];
    cleanup_listing struct listing files = {0};
    if (folder_list_pictures(set->root, name, &files, &set->left_out, err) != 0)
        return -1;
    if (files.count == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s/%s: a class without pictures (no " FOLDER_SUFFIXES " in it)",
                         set->root, name);
    if (reserve_samples(set, &files, *names_size, err) != 0)
        return -1;
    hash_text(set, name);
    for (size_t i = 0; i < files.count; i++) {
        const struct entry *file = &files.items[i];
        size_t length = strlen(file->path) + 1;
        memcpy(set->names + *names_size, file->path, length);
        set->name_at[set->count] = *names_size;
        set->labels[set->count++] = (int32_t)label;
        *names_size += length;
        set->bytes += file->size;
        hash_text(set, file->path);
        set->hash = str_hash(set->hash, &file->size, sizeof(file->size));
    }
    return 0;
}

int folder_scan(struct dataset *set, const char *folder, struct error *err) {
    set->root = strdup(folder);
    if (set->root == NULL)
        return error_no_memory(err, "listing files");
    cleanup_listing struct listing classes = {0};
    if (folder_list_classes(folder, &classes, &set->left_out, err) != 0)
        return -1;
    if (classes.count == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: no class folders; pictures are expected as CLASS/FILE.jpg in it",
                         folder);
    if (classes.count > DATASET_CLASSES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: %zu class folders; %d are the most", folder,
                         classes.count, DATASET_CLASSES_MAX);
    set->class_names = calloc(classes.count, sizeof(*set->class_names));
    if (set->class_names == NULL)
        return error_no_memory(err, "listing files");
    set->classes = classes.count;
    set->hash = STR_HASH_START;
    for (size_t c = 0; c < classes.count; c++)
        set->class_names[c] = TAKE_PTR(classes.items[c].path);
    size_t names_size = 0;
    for (size_t c = 0; c < set->classes; c++)
        if (add_class(set, c, &names_size, err) != 0)
            return -1;
    return 0;
}
