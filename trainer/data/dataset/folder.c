#include "trainer/data/dataset/folder.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/dataset/folder_walk.h"

#include <stdlib.h>
#include <string.h>

void folder_listing_done(struct folder_listing *list) {
    for (size_t c = 0; list->class_names != NULL && c < list->classes; c++)
        free(list->class_names[c]);
    free(list->class_names);
    free(list->root);
    free(list->labels);
    free(list->names);
    free(list->name_at);
    skipped_files_done(&list->left_out);
    *list = (struct folder_listing){0};
}

/* Reserves memory for the files of one more class; names are packed into one block. It is
 * exactly as much as they take, not what grow_array would take: the files of a class are known at
 * once, and a list of millions of pictures is kept for the whole run. */
static int reserve_samples(struct folder_listing *list, const struct listing *files,
                           size_t names_size, struct error *err) {
    size_t extra = 0;
    for (size_t i = 0; i < files->count; i++)
        extra += strlen(files->items[i].path) + 1;
    size_t count = list->count + files->count;
    if (count > FOLDER_SAMPLES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: more than %d pictures", list->root,
                         FOLDER_SAMPLES_MAX);
    int32_t *labels = realloc(list->labels, count * sizeof(*labels));
    if (labels != NULL)
        list->labels = labels;
    size_t *name_at = realloc(list->name_at, count * sizeof(*name_at));
    if (name_at != NULL)
        list->name_at = name_at;
    char *names = realloc(list->names, names_size + extra);
    if (names != NULL)
        list->names = names;
    if (labels == NULL || name_at == NULL || names == NULL)
        return error_no_memory(err, "listing files");
    return 0;
}

static void hash_text(struct folder_listing *list, const char *text) {
    list->hash = str_hash(list->hash, text, strlen(text) + 1);
}

static int add_class(struct folder_listing *list, size_t label, size_t *names_size,
                     struct error *err) {
    const char *name = list->class_names[label];
    cleanup_listing struct listing files = {0};
    if (folder_list_pictures(list->root, name, &files, &list->left_out, err) != 0)
        return -1;
    if (files.count == 0) {
        char left[256];
        skipped_files_text(&list->left_out, left, sizeof(left));
        return error_set(err, EXIT_CODE_DATA,
                         "%s/%s: a class without pictures (no " PICTURE_SUFFIXES " in it%s%s)",
                         list->root, name, left[0] != '\0' ? "; " : "", left);
    }
    if (reserve_samples(list, &files, *names_size, err) != 0)
        return -1;
    hash_text(list, name);
    for (size_t i = 0; i < files.count; i++) {
        const struct entry *file = &files.items[i];
        size_t length = strlen(file->path) + 1;
        memcpy(list->names + *names_size, file->path, length);
        list->name_at[list->count] = *names_size;
        list->labels[list->count++] = (int32_t)label;
        *names_size += length;
        list->bytes += file->size;
        hash_text(list, file->path);
        list->hash = str_hash(list->hash, &file->size, sizeof(file->size));
    }
    return 0;
}

static int scan(struct folder_listing *list, const char *folder, struct error *err) {
    list->root = strdup(folder);
    if (list->root == NULL)
        return error_no_memory(err, "listing files");
    cleanup_listing struct listing classes = {0};
    if (folder_list_classes(folder, &classes, &list->left_out, err) != 0)
        return -1;
    if (classes.count == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: no class folders; expected pictures as CLASS/FILE.jpg in it", folder);
    if (classes.count > FOLDER_CLASSES_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: %zu class folders; at most %d are allowed",
                         folder, classes.count, FOLDER_CLASSES_MAX);
    list->class_names = calloc(classes.count, sizeof(*list->class_names));
    if (list->class_names == NULL)
        return error_no_memory(err, "listing files");
    list->classes = classes.count;
    list->hash = STR_HASH_START;
    for (size_t c = 0; c < classes.count; c++)
        list->class_names[c] = TAKE_PTR(classes.items[c].path);
    size_t names_size = 0;
    for (size_t c = 0; c < list->classes; c++)
        if (add_class(list, c, &names_size, err) != 0)
            return -1;
    return 0;
}

int folder_scan(struct folder_listing *ret, const char *folder, struct error *err) {
    *ret = (struct folder_listing){0};
    if (scan(ret, folder, err) == 0)
        return 0;
    folder_listing_done(ret);
    return -1;
}
