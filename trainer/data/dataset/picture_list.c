#include "trainer/data/dataset/picture_list.h"

#include "common/grow.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/dataset/folder_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void picture_list_done(struct picture_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    skipped_files_done(&list->left_out);
    *list = (struct picture_list){0};
}

/* Adds FOLDER/NAME, or NAME alone. */
static int add(struct picture_list *list, const char *folder, const char *name, struct error *err) {
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] != '/' ? "/" : "";
    if (list->count == PICTURE_LIST_MAX)
        return error_set(err, EXIT_CODE_DATA, "more than %d pictures", PICTURE_LIST_MAX);
    if (grow_array(&list->paths, &list->capacity, list->count + 1, sizeof(*list->paths),
                   "list of pictures", err) != 0)
        return -1;
    if (asprintf(&list->paths[list->count], "%s%s%s", folder, slash, name) < 0)
        return error_no_memory(err, "list of pictures");
    list->count++;
    return 0;
}

static int add_folder(struct picture_list *list, const char *folder, struct error *err) {
    cleanup_listing struct listing found = {0};
    if (folder_list_pictures(folder, ".", &found, &list->left_out, err) != 0)
        return -1;
    if (found.count == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: no pictures (no " PICTURE_SUFFIXES " in it)",
                         folder);
    for (size_t i = 0; i < found.count; i++)
        if (add(list, folder, found.items[i].path, err) != 0)
            return -1;
    return 0;
}

int picture_list_add(struct picture_list *list, const char *path, struct error *err) {
    struct stat st;
    if (stat(path, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    return S_ISDIR(st.st_mode) ? add_folder(list, path, err) : add(list, "", path, err);
}
