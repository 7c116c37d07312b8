#include "data/folder.h"

#include "common/cleanup.h"
#include "common/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct entry {
    char *name; /* owned */
    int64_t size;
};

struct listing {
    struct entry *items;
    size_t count;
    size_t capacity;
};

static void listing_done(struct listing *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
    *list = (struct listing){0};
}

static void close_folder(DIR **folder) {
    if (*folder != NULL)
        (void)closedir(*folder);
}

static int listing_add(struct listing *list, const char *name, int64_t size, struct error *err) {
    if (list->count == list->capacity) {
        size_t more = list->capacity == 0 ? 64 : list->capacity * 2;
        struct entry *items = realloc(list->items, more * sizeof(*items));
        if (items == NULL)
            return error_no_memory(err, "listing files");
        list->items = items;
        list->capacity = more;
    }
    char *copy = strdup(name);
    if (copy == NULL)
        return error_no_memory(err, "listing files");
    list->items[list->count++] = (struct entry){.name = copy, .size = size};
    return 0;
}

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static bool is_jpeg_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot != NULL && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

/* Is this entry of the folder wanted? Pictures when FILES, folders otherwise. */
static bool wanted(const char *name, const struct stat *st, bool files) {
    return files ? S_ISREG(st->st_mode) && is_jpeg_name(name) : S_ISDIR(st->st_mode);
}

/* Lists FOLDER (for messages PATH), sorted, and leaves it open in *RET_FD when not NULL. */
static int list_folder(int fd, const char *path, bool files, struct listing *list,
                       struct error *err) {
    __attribute__((cleanup(close_folder))) DIR *folder = fdopendir(dup(fd));
    if (folder == NULL)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    rewinddir(folder);
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(folder);
        if (item == NULL && errno != 0)
            return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
        if (item == NULL)
            break;
        if (item->d_name[0] == '.' || (files && !is_jpeg_name(item->d_name)))
            continue;
        struct stat st;
        if (fstatat(fd, item->d_name, &st, 0) != 0)
            return error_set_errno(err, EXIT_CODE_DATA, "%s/%s", path, item->d_name);
        if (wanted(item->d_name, &st, files) &&
            listing_add(list, item->d_name, st.st_size, err) != 0)
            return -1;
    }
    if (list->count > 0)
        qsort(list->items, list->count, sizeof(*list->items), compare_entries);
    return 0;
}

/* Room for the files of one more class; names are packed into one block. */
static int reserve_samples(struct dataset *set, const struct listing *files, size_t names_size,
                           size_t *ret_extra, struct error *err) {
    size_t extra = 0;
    for (size_t i = 0; i < files->count; i++)
        extra += strlen(files->items[i].name) + 1;
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
    *ret_extra = extra;
    return 0;
}

static void hash_text(struct dataset *set, const char *text) {
    set->hash = str_hash(set->hash, text, strlen(text) + 1);
}

static int add_class(struct dataset *set, int root_fd, size_t label, size_t *names_size,
                     struct error *err) {
    const char *name = set->class_names[label];
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/%s", set->root, name) < 0) {
        path = NULL;
        return error_no_memory(err, "listing files");
    }
    cleanup_fd int fd = openat(root_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    __attribute__((cleanup(listing_done))) struct listing files = {0};
    if (list_folder(fd, path, true, &files, err) != 0)
        return -1;
    if (files.count == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: a class without pictures (no .jpg or .jpeg in it)", path);
    size_t extra = 0;
    if (reserve_samples(set, &files, *names_size, &extra, err) != 0)
        return -1;
    hash_text(set, name);
    for (size_t i = 0; i < files.count; i++) {
        const struct entry *file = &files.items[i];
        size_t length = strlen(file->name) + 1;
        memcpy(set->names + *names_size, file->name, length);
        set->name_at[set->count] = *names_size;
        set->labels[set->count++] = (int32_t)label;
        *names_size += length;
        set->bytes += file->size;
        hash_text(set, file->name);
        set->hash = str_hash(set->hash, &file->size, sizeof(file->size));
    }
    return 0;
}

int folder_scan(struct dataset *set, const char *folder, struct error *err) {
    set->root = strdup(folder);
    if (set->root == NULL)
        return error_no_memory(err, "listing files");
    cleanup_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", folder);
    __attribute__((cleanup(listing_done))) struct listing classes = {0};
    if (list_folder(fd, folder, false, &classes, err) != 0)
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
        set->class_names[c] = TAKE_PTR(classes.items[c].name);
    size_t names_size = 0;
    for (size_t c = 0; c < set->classes; c++)
        if (add_class(set, fd, c, &names_size, err) != 0)
            return -1;
    return 0;
}
