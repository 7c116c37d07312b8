#include "trainer/data/coco/coco_folder.h"

#include "common/file/file_look.h"
#include "trainer/data/coco/coco_pictures.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A search by names alone: no JSON is opened. Each layout of coco_folder.h is tried in turn, and
 * the first that yields a set ends the search. Exports of two tools in one folder are never mixed.
 * trainer/app/task/detect_data.c opens what the user gave, and then chooses a set by its name.
 *
 * A set without a folder of pictures is still a set: `ringtrain inspect coco` counts it. Callers
 * that need the pictures refuse it. */

/* File names of COCO's own archives are "instances_train2017.json", beside
 * "captions_train2017.json" and "person_keypoints_train2017.json", which are for other tasks. The
 * prefix is no part of the set's name. */
static const char PREFIX[] = "instances_";
static const char SUFFIX[] = ".json";

/* Pointers to sets that were taken from FOLDER are invalid afterwards; callers copy the paths. */
void coco_folder_done(struct coco_folder *folder) {
    free(folder->sets);
    *folder = (struct coco_folder){0};
}

/* Copies NAME from PREFIX NAME .json; false for other file names. Hidden files are none: archives
 * made on macOS have a "._" companion for each file. */
static bool set_name(const char *file, const char *prefix, char ret[NAME_MAX + 1]) {
    size_t length = strlen(file), before = strlen(prefix), suffix = strlen(SUFFIX);
    if (file[0] == '.' || length <= before + suffix || length - before - suffix > NAME_MAX ||
        strncmp(file, prefix, before) != 0 || strcmp(file + length - suffix, SUFFIX) != 0)
        return false;
    memcpy(ret, file + before, length - before - suffix);
    ret[length - before - suffix] = '\0';
    return true;
}

/* A path that was cut would be the path of something else, so it is an error. The message has its
 * start alone. */
static int too_long(struct error *err, const char *path) {
    return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", path);
}

/* Adds the set NAME with annotations FOLDER/FILE, without pictures. *RET is what was added; NULL,
 * without an error, if all COCO_SETS_MAX places are taken. */
static int add_set(struct coco_folder *sets, const char *folder, const char *file, const char *name,
                   struct coco_set **ret, struct error *err) {
    struct coco_set *set = *ret = NULL;
    if (sets->count == COCO_SETS_MAX)
        return 0;
    set = &sets->sets[sets->count++];
    *set = (struct coco_set){0};
    *ret = set;
    (void)snprintf(set->name, sizeof(set->name), "%s", name);
    return snprintf(set->json, sizeof(set->json), "%s/%s", folder, file) < (int)sizeof(set->json)
               ? 0
               : too_long(err, folder);
}

/* Returns NULL with an error that names PATH. The folder was there when it was looked at: one that
 * cannot be read must not pass for an empty one. */
static DIR *open_folder(const char *path, struct error *err) {
    DIR *dir = opendir(path);
    if (dir == NULL)
        (void)error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    return dir;
}

/* Sets *RET to the next entry, NULL at the end. readdir returns NULL for both the end and an error;
 * only errno tells them apart. */
static int next_entry(DIR *dir, const char *path, const struct dirent **ret, struct error *err) {
    errno = 0;
    *ret = readdir(dir);
    return *ret != NULL || errno == 0 ? 0 : error_set_errno(err, EXIT_CODE_DATA, "%s", path);
}

/* Adds the sets PREFIX NAME .json in FOLDER; their pictures are looked for in ROOT, and LOOSE ones
 * in ROOT itself, too (coco_pictures.h). */
static int add_named(struct coco_folder *sets, const char *folder, const char *prefix,
                     const char *root, bool loose, struct error *err) {
    char name[NAME_MAX + 1];
    const struct dirent *entry = NULL;
    DIR *dir = open_folder(folder, err);
    int failed = dir != NULL ? 0 : -1;
    while (failed == 0 && (failed = next_entry(dir, folder, &entry, err)) == 0 && entry != NULL) {
        struct coco_set *set = NULL;
        /* Pictures, licences and all else that is no JSON with such a name. */
        if (!set_name(entry->d_name, prefix, name))
            continue;
        failed = add_set(sets, folder, entry->d_name, name, &set, err);
        if (failed == 0 && set != NULL)
            failed = coco_pictures_find(set->pictures, root, name, loose, err);
    }
    if (dir != NULL)
        (void)closedir(dir);
    return failed;
}

/* Adds the sets ROOT/NAME/_annotations.coco.json, which lie among their pictures: the folder is
 * both the set's name and the place of its pictures. Entries that are no folders have no such file
 * in them and are passed over. */
static int add_beside_pictures(struct coco_folder *sets, const char *root, struct error *err) {
    char folder[PATH_MAX], json[PATH_MAX];
    const struct dirent *entry = NULL;
    DIR *dir = open_folder(root, err);
    int failed = dir != NULL ? 0 : -1;
    while (failed == 0 && (failed = next_entry(dir, root, &entry, err)) == 0 && entry != NULL) {
        struct coco_set *set = NULL;
        bool there = false;
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(folder, sizeof(folder), "%s/%s", root, entry->d_name) >= (int)sizeof(folder) ||
            snprintf(json, sizeof(json), "%s/" COCO_BESIDE_PICTURES, folder) >= (int)sizeof(json)) {
            /* The condition of the loop ends it. */
            failed = too_long(err, root);
            continue;
        }
        failed = file_look(json, NULL, &there, err);
        if (failed == 0 && there)
            failed = add_set(sets, folder, COCO_BESIDE_PICTURES, entry->d_name, &set, err);
        if (failed == 0 && set != NULL)
            memcpy(set->pictures, folder, sizeof(folder));
    }
    if (dir != NULL)
        (void)closedir(dir);
    return failed;
}

/* Orders by name: the order of readdir differs between file systems, and messages list the sets. */
static int compare_sets(const void *a, const void *b) {
    return strcmp(((const struct coco_set *)a)->name, ((const struct coco_set *)b)->name);
}

/* Looks for sets in the folder PATH; the first layout that it has decides. Other files of
 * annotations/ are not sets once one there begins with "instances_". */
static int add_folder(struct coco_folder *sets, const char *path, struct error *err) {
    char annotations[PATH_MAX];
    bool there = false;
    if (snprintf(annotations, sizeof(annotations), "%s/annotations", path) >=
        (int)sizeof(annotations))
        return too_long(err, path);
    if (file_look_folder(annotations, &there, err) != 0)
        return -1;
    if (there && add_named(sets, annotations, PREFIX, path, false, err) != 0)
        return -1;
    if (there && sets->count == 0 && add_named(sets, annotations, "", path, false, err) != 0)
        return -1;
    if (sets->count == 0 && add_beside_pictures(sets, path, err) != 0)
        return -1;
    if (sets->count == 0 && add_named(sets, path, PREFIX, path, true, err) != 0)
        return -1;
    if (sets->count == 0 && add_named(sets, path, "", path, true, err) != 0)
        return -1;
    if (sets->count == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: no COCO annotations in it; expected annotations/instances_NAME.json "
                         "with pictures in NAME/ or images/, NAME/" COCO_BESIDE_PICTURES
                         " among its pictures, or a .json beside images/. Class folders train a "
                         "network that classifies (--model resnet50)",
                         path);
    qsort(sets->sets, sets->count, sizeof(*sets->sets), compare_sets);
    return 0;
}

/* Writes the folder that contains PATH to RET: "." for a name without a slash, "/" for one directly
 * below the root. */
static int parent_of(const char *path, char ret[PATH_MAX], struct error *err) {
    const char *slash = strrchr(path, '/');
    int length = slash != NULL ? (int)(slash - path) : 1;
    if (length >= PATH_MAX)
        return too_long(err, path);
    (void)snprintf(ret, PATH_MAX, "%.*s", slash == path ? 1 : length, slash != NULL ? path : ".");
    return 0;
}

/* Looks for the pictures of a JSON in FOLDER. For one in annotations/ they are beside that folder;
 * for another one they are in the folder that contains it, beside that folder, or loose beside the
 * JSON. Loose pictures come last, so that a named folder is preferred. */
static int find_pictures(struct coco_set *set, const char *folder, struct error *err) {
    char above[PATH_MAX];
    const char *slash = strrchr(folder, '/');
    if (strcmp(slash != NULL ? slash + 1 : folder, "annotations") == 0)
        return parent_of(folder, above, err) == 0
                   ? coco_pictures_find(set->pictures, above, set->name, false, err)
                   : -1;
    /* FOLDER may be ".", so that the folder above it is not what is left of its last slash. */
    if (snprintf(above, sizeof(above), "%s/..", folder) >= (int)sizeof(above))
        return too_long(err, folder);
    if (coco_pictures_find(set->pictures, folder, set->name, false, err) != 0 ||
        (set->pictures[0] == '\0' &&
         coco_pictures_find(set->pictures, above, set->name, false, err) != 0))
        return -1;
    return set->pictures[0] == '\0'
               ? coco_pictures_find(set->pictures, folder, set->name, true, err)
               : 0;
}

/* Adds the set of one JSON file. Its name may be anything, as the user named it. */
static int add_file(struct coco_folder *sets, const char *path, struct error *err) {
    char folder[PATH_MAX], name[NAME_MAX + 1];
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    struct coco_set *set = NULL;
    if (!set_name(file, PREFIX, name) && !set_name(file, "", name))
        (void)snprintf(name, sizeof(name), "%s", file);
    if (parent_of(path, folder, err) != 0 || add_set(sets, folder, file, name, &set, err) != 0)
        return -1;
    if (strcmp(file, COCO_BESIDE_PICTURES) != 0)
        return find_pictures(set, folder, err);
    memcpy(set->pictures, folder, sizeof(folder));
    return 0;
}

/* The table is allocated for the largest number of sets at once, so that the pointers that add_set
 * returns stay valid. RET is set on success alone. */
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

const struct coco_set *coco_folder_only(const struct coco_folder *folder) {
    return folder->count == 1 ? &folder->sets[0] : NULL;
}

/* Goes through all sets even after a match, as the list of them is part of the error, and as a
 * second match makes the choice ambiguous. FLAG is the option by which the user could have said
 * more. */
const struct coco_set *coco_folder_pick(const struct coco_folder *folder, const char *path,
                                        const char *name, const char *prefix, const char *flag,
                                        struct error *err) {
    const struct coco_set *found = NULL;
    char there[512] = "";
    size_t used = 0, count = 0;
    struct stat st;
    /* A JSON file that was named is meant, whatever its set's name begins with. */
    bool file = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
    for (size_t i = 0; i < folder->count; i++) {
        const struct coco_set *set = &folder->sets[i];
        /* snprintf returns the length that it wanted: once the list is cut, no more is added. */
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
