#include "trainer/data/dataset/folder_walk.h"

#include "common/cleanup.h"
#include "common/grow.h"
#include "trainer/data/codec/picture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* A walk goes down with descriptors: each folder is opened relative to the one above it, and looked
 * at through that descriptor alone. Links are followed, as data sets are often made of links to
 * files elsewhere. A list of the open folders' inodes finds circles.
 *
 * Files that are no pictures are counted and never an error (skipped_files.h). Folders that cannot
 * be read are one: a set that is smaller on one host than on another must not go unnoticed.
 *
 * folder.c makes a labelled set of it, splits.c looks for parts with it, and picture_list.c lists
 * pictures to be predicted. */

/* One walk in progress. Paths of entries are relative to `base`; files that are left out are named
 * relative to the set's folder, with `prefix` ("CLASS/" or ""). */
struct walk {
    const char *base;
    const char *prefix;
    struct listing *list;
    struct skipped_files *left;
};

/* An open folder and those that contain it. */
struct level {
    const struct level *above;
    int fd;
    int depth;
    dev_t device;
    ino_t inode;
    const char *path; /* below base, "" for base itself */
};

void listing_done(struct listing *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
    *list = (struct listing){0};
}

/* For the cleanup attribute. Closes the descriptor that fdopendir took over, too. */
static void close_folder(DIR **folder) {
    if (*folder != NULL)
        (void)closedir(*folder);
}

/* Adds a copy of PATH, with the length of its folder, by which entries are sorted. */
static int listing_add(struct listing *list, const char *path, int64_t size, struct error *err) {
    if (grow_array(&list->items, &list->capacity, list->count + 1, sizeof(*list->items),
                   "listing files", err) != 0)
        return -1;
    const char *slash = strrchr(path, '/');
    char *copy = strdup(path);
    if (copy == NULL)
        return error_no_memory(err, "listing files");
    list->items[list->count++] = (struct entry){
        .path = copy, .folder = slash == NULL ? 0 : (size_t)(slash - path), .size = size};
    return 0;
}

/* Order by folder, then by name: Python's sorted(os.walk(...)), then sorted(names). */
static int compare_entries(const void *first, const void *second) {
    const struct entry *a = first;
    const struct entry *b = second;
    size_t common = a->folder < b->folder ? a->folder : b->folder;
    int order = memcmp(a->path, b->path, common);
    if (order != 0)
        return order;
    if (a->folder != b->folder)
        return a->folder < b->folder ? -1 : 1;
    return strcmp(a->path + a->folder, b->path + b->folder);
}

/* An empty list has no items, and qsort must not get NULL. */
static void listing_sort(struct listing *list) {
    if (list->count > 0)
        qsort(list->items, list->count, sizeof(*list->items), compare_entries);
}

/* Writes A, BETWEEN and B to TO. A path that was cut would lead to another file. */
static int join(char to[PATH_MAX], const char *a, const char *between, const char *b,
                struct error *err) {
    int length = snprintf(to, PATH_MAX, "%s%s%s", a, between, b);
    if (length < 0 || length >= PATH_MAX)
        return error_set(err, EXIT_CODE_DATA, "%.64s...: path too long", a);
    return 0;
}

/* Fails with a message about BASE/PATH/NAME; empty parts are left out. */
static int fail_at(const struct walk *walk, const char *path, const char *name, struct error *err) {
    return error_set_errno(err, EXIT_CODE_DATA, "%s%s%s%s%s", walk->base,
                           path[0] != '\0' ? "/" : "", path, name[0] != '\0' ? "/" : "", name);
}

/* Counts a file that is not used, under WHAT, or by its suffix if that is NULL. PICTURE: it would
 * be a picture elsewhere. */
static int leave_out(const struct walk *walk, const char *what, bool picture, const char *path,
                     struct error *err) {
    char name[PATH_MAX];
    if (join(name, walk->prefix, "", path, err) != 0)
        return -1;
    return what != NULL ? skipped_files_add(walk->left, what, picture, name, err)
                        : skipped_files_add_file(walk->left, name, err);
}

/* Returns true if ST is one of the folders that the walk is in: following it would never end. The
 * same folder may well occur twice side by side. */
static bool goes_in_circles(const struct level *level, const struct stat *st) {
    for (; level != NULL; level = level->above)
        if (level->device == st->st_dev && level->inode == st->st_ino)
            return true;
    return false;
}

/* Callback for the entry PATH of a folder, relative to the base of the walk. If *ST is a link, the
 * link is dangling, and its size is 0. The walk ends with the first call that fails. */
typedef int (*visit)(const struct walk *walk, const struct level *level, const char *path,
                     const struct stat *st, struct error *err);

/* Looks at one entry through links. Names that begin with a dot are not even counted. An entry that
 * is gone by now is an error, but a dangling link is reported as what it is. */
static int visit_entry(const struct walk *walk, const struct level *level, const char *name,
                       visit each, struct error *err) {
    struct stat st;
    char path[PATH_MAX];
    if (name[0] == '.')
        return 0;
    if (join(path, level->path, level->path[0] != '\0' ? "/" : "", name, err) != 0)
        return -1;
    if (fstatat(level->fd, name, &st, 0) != 0) {
        if (fstatat(level->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(st.st_mode))
            return fail_at(walk, level->path, name, err);
        st.st_size = 0;
    }
    return each(walk, level, path, &st, err);
}

/* Visits all entries of an open folder, in the order of the file system; sorting comes at the end.
 * fdopendir takes over its descriptor, and `level` needs one for its subfolders: hence a copy. */
static int walk_level(const struct walk *walk, const struct level *level, visit each,
                      struct error *err) {
    int copy = fcntl(level->fd, F_DUPFD_CLOEXEC, 0);
    __attribute__((cleanup(close_folder))) DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        int failed = fail_at(walk, level->path, "", err);
        if (copy >= 0)
            (void)close(copy);
        return failed;
    }
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(folder);
        if (item == NULL)
            return errno == 0 ? 0 : fail_at(walk, level->path, "", err);
        if (visit_entry(walk, level, item->d_name, each, err) != 0)
            return -1;
    }
}

/* Opens the folder NAME of PARENT (a descriptor, or AT_FDCWD) and visits its entries. */
static int enter(const struct walk *walk, const struct level *above, int parent, const char *name,
                 const char *path, visit each, struct error *err) {
    cleanup_fd int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return fail_at(walk, path, "", err);
    const struct level level = {.above = above,
                                .fd = fd,
                                .depth = above == NULL ? 0 : above->depth + 1,
                                .device = st.st_dev,
                                .inode = st.st_ino,
                                .path = path};
    return walk_level(walk, &level, each, err);
}

/* Visit within a class: lists pictures, and enters folders. The depth is bounded, as each level
 * holds two descriptors and a path. */
static int visit_picture(const struct walk *walk, const struct level *level, const char *path,
                         const struct stat *st, struct error *err) {
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    /* A dangling link is a bad sample, to be handled as --bad-samples says. */
    if (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode))
        return picture_suffix_ends(name) ? listing_add(walk->list, path, st->st_size, err)
                                         : leave_out(walk, NULL, false, path, err);
    if (!S_ISDIR(st->st_mode))
        return leave_out(walk, "that are not files", false, path, err);
    if (goes_in_circles(level, st))
        return leave_out(walk, "links to a folder around them", false, path, err);
    if (level->depth == FOLDER_DEPTH_MAX)
        return leave_out(walk, "folders nested too deep", true, path, err);
    return enter(walk, level, level->fd, name, path, visit_picture, err);
}

/* Visit of the set's folder: lists folders and enters none. A picture beside them is worth a
 * warning, as it was perhaps meant to be used. */
static int visit_class(const struct walk *walk, const struct level *level, const char *path,
                       const struct stat *st, struct error *err) {
    (void)level;
    if (S_ISDIR(st->st_mode))
        return listing_add(walk->list, path, 0, err);
    if (!S_ISDIR(st->st_mode) && picture_suffix_ends(path))
        return leave_out(walk, "beside the class folders", true, path, err);
    return leave_out(walk, NULL, false, path, err);
}

int folder_list_classes(const char *root, struct listing *list, struct skipped_files *left,
                        struct error *err) {
    const struct walk walk = {.base = root, .prefix = "", .list = list, .left = left};
    if (enter(&walk, NULL, AT_FDCWD, root, "", visit_class, err) != 0)
        return -1;
    listing_sort(list);
    return 0;
}

/* Sorted by folder and name below the class. Files that are left out are named from the set's
 * folder on. */
int folder_list_pictures(const char *root, const char *name, struct listing *list,
                         struct skipped_files *left, struct error *err) {
    char base[PATH_MAX];
    char prefix[PATH_MAX];
    if (join(base, root, "/", name, err) != 0 || join(prefix, name, "/", "", err) != 0)
        return -1;
    const struct walk walk = {.base = base, .prefix = prefix, .list = list, .left = left};
    if (enter(&walk, NULL, AT_FDCWD, base, "", visit_picture, err) != 0)
        return -1;
    listing_sort(list);
    return 0;
}
