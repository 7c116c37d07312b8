#include "trainer/data/coco/coco_folder.h"

#include "common/file/file_look.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char PREFIX[] = "instances_";
static const char SUFFIX[] = ".json";

void coco_folder_done(struct coco_folder *folder) {
    free(folder->sets);
    *folder = (struct coco_folder){0};
}

/* Copies NAME from instances_NAME.json; false for other file names. */
static bool set_name(const char *file, char *ret, size_t size) {
    size_t length = strlen(file), prefix = strlen(PREFIX), suffix = strlen(SUFFIX);
    if (length <= prefix + suffix || strncmp(file, PREFIX, prefix) != 0 ||
        strcmp(file + length - suffix, SUFFIX) != 0 || length - prefix - suffix >= size)
        return false;
    memcpy(ret, file + prefix, length - prefix - suffix);
    ret[length - prefix - suffix] = '\0';
    return true;
}

static int too_long(struct error *err, const char *path) {
    return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", path);
}

/* Adds the set with annotations FILE in ANNOTATIONS, and pictures in ROOT. */
static int add_set(struct coco_folder *folder, const char *root, const char *annotations,
                   const char *file, struct error *err) {
    struct coco_set *set = &folder->sets[folder->count];
    *set = (struct coco_set){0};
    if (snprintf(set->json, sizeof(set->json), "%s/%s", annotations, file) >=
        (int)sizeof(set->json))
        return too_long(err, annotations);
    if (set_name(file, set->name, sizeof(set->name))) {
        if (snprintf(set->pictures, sizeof(set->pictures), "%s/%s", root, set->name) >=
            (int)sizeof(set->pictures))
            return too_long(err, root);
        bool there = false;
        if (file_look_folder(set->pictures, &there, err) != 0)
            return -1;
        if (!there)
            set->pictures[0] = '\0';
    } else {
        snprintf(set->name, sizeof(set->name), "%.*s", NAME_MAX, file);
    }
    folder->count++;
    return 0;
}

static int compare_sets(const void *a, const void *b) {
    return strcmp(((const struct coco_set *)a)->name, ((const struct coco_set *)b)->name);
}

static int add_folder(struct coco_folder *folder, const char *path, struct error *err) {
    char annotations[PATH_MAX], name[NAME_MAX + 1];
    if (snprintf(annotations, sizeof(annotations), "%s/annotations", path) >=
        (int)sizeof(annotations))
        return too_long(err, path);
    DIR *dir = opendir(annotations);
    if (dir == NULL)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", annotations);
    int failed = 0;
    while (failed == 0) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (entry == NULL && errno != 0)
            failed = error_set_errno(err, EXIT_CODE_DATA, "%s", annotations);
        if (entry == NULL)
            break;
        if (set_name(entry->d_name, name, sizeof(name)) && folder->count < COCO_SETS_MAX)
            failed = add_set(folder, path, annotations, entry->d_name, err);
    }
    closedir(dir);
    if (failed == 0 && folder->count == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: no instances_NAME.json in it", annotations);
    qsort(folder->sets, folder->count, sizeof(*folder->sets), compare_sets);
    return failed;
}

/* For a single JSON file: looks for pictures as if it were in a set's annotations folder. */
static int add_file(struct coco_folder *folder, const char *path, struct error *err) {
    char annotations[PATH_MAX], root[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    int length = slash != NULL ? (int)(slash - path) : 0;
    snprintf(annotations, sizeof(annotations), "%.*s", length, path);
    if (slash == NULL)
        snprintf(annotations, sizeof(annotations), ".");
    if (snprintf(root, sizeof(root), "%s/..", annotations) >= (int)sizeof(root))
        return too_long(err, path);
    return add_set(folder, root, annotations, file, err);
}

int coco_folder_open(struct coco_folder *ret, const char *path, struct error *err) {
    cleanup_coco_folder struct coco_folder folder = {0};
    folder.sets = calloc(COCO_SETS_MAX, sizeof(*folder.sets));
    if (folder.sets == NULL)
        return error_no_memory(err, "the parts of a data set");
    struct stat st;
    if (stat(path, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    int failed =
        S_ISDIR(st.st_mode) ? add_folder(&folder, path, err) : add_file(&folder, path, err);
    if (failed != 0)
        return -1;
    *ret = folder;
    folder = (struct coco_folder){0};
    return 0;
}

const struct coco_set *coco_folder_pick(const struct coco_folder *folder, const char *path,
                                        const char *name, const char *prefix, const char *flag,
                                        struct error *err) {
    const struct coco_set *found = NULL;
    char there[512] = "";
    size_t used = 0, count = 0;
    struct stat st;
    bool file = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
    for (size_t i = 0; i < folder->count; i++) {
        const struct coco_set *set = &folder->sets[i];
        if (used < sizeof(there))
            used += (size_t)snprintf(there + used, sizeof(there) - used, "%s%s", i > 0 ? ", " : "",
                                     set->name);
        if (name != NULL ? strcmp(set->name, name) == 0
                         : file || strncmp(set->name, prefix, strlen(prefix)) == 0) {
            found = set;
            count++;
        }
    }
    if (count == 1)
        return found;
    if (name != NULL)
        (void)error_set(err, EXIT_CODE_DATA, "%s: no set '%.64s' (%s); there are %s", path, name,
                        flag, there);
    else
        (void)error_set(err, EXIT_CODE_DATA,
                        "%s: %s set with a name that begins with '%s'; there are %s: "
                        "give %s",
                        path, count == 0 ? "no" : "more than one", prefix, there, flag);
    return NULL;
}
