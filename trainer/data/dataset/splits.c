#include "trainer/data/dataset/splits.h"

#include "common/cleanup.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/dataset/folder_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* The names of DIR's folders settle the usual case: none is called like a part, and nothing else is
 * read. Otherwise each folder is searched for pictures, directly in it or below, until the first is
 * found.
 *
 * The rules are in splits.h. They refuse rather than guess: a training on evaluation pictures, or
 * on two classes called train and val, is hard to notice. The caller shows the note, if there is
 * one. */

/* Kind of a folder by its name. */
enum part { PART_NONE, PART_TRAINING, PART_VALIDATION };

static const char *const TRAINING[] = {"train", "training", NULL};
static const char *const VALIDATION[] = {"validation", "valid", "val",     "dev",
                                         "eval",       "test",  "testing", NULL};

/* A folder of DIR that holds pictures. */
struct candidate {
    char name[NAME_MAX + 1];
    enum part part;
    int rank;               /* position in the list of names: the lowest is chosen */
    bool nested;            /* it holds class folders */
    struct listing folders; /* its folders */
};

struct candidates {
    const char *dir;
    struct candidate *list; /* owned */
    size_t count;
};

/* The directory's name is borrowed. */
static void candidates_done(struct candidates *c) {
    for (size_t i = 0; i < c->count; i++)
        listing_done(&c->list[i].folders);
    free(c->list);
}

/* Returns the position of NAME in NAMES, in any case; -1 if it is none of them. */
static int rank_in(const char *const *names, const char *name) {
    for (int i = 0; names[i] != NULL; i++)
        if (strcasecmp(names[i], name) == 0)
            return i;
    return -1;
}

static void close_folder(DIR **folder) {
    if (*folder != NULL)
        (void)closedir(*folder);
}

/* Returns true if there is a picture in the folder NAME of PARENT or below; stops at the first.
 * With BELOW it must be in a subfolder. A folder that cannot be read counts as empty: the later
 * scan reports it. */
static bool holds_picture(int parent, const char *name, int depth, bool below) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    __attribute__((cleanup(close_folder))) DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *item;
    if (folder == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    while ((item = readdir(folder)) != NULL) {
        struct stat st;
        if (item->d_name[0] == '.' || fstatat(fd, item->d_name, &st, 0) != 0)
            continue;
        if (S_ISREG(st.st_mode) && !below && picture_suffix_ends(item->d_name))
            return true;
        if (S_ISDIR(st.st_mode) && depth < FOLDER_DEPTH_MAX &&
            holds_picture(fd, item->d_name, depth + 1, false))
            return true;
    }
    return false;
}

/* Sets the name of a candidate and the part that it stands for. `rank` is -1 for other folders. */
static void judge_name(struct candidate *c, const char *name) {
    (void)snprintf(c->name, sizeof(c->name), "%s", name);
    c->rank = rank_in(TRAINING, name);
    c->part = c->rank >= 0 ? PART_TRAINING : PART_NONE;
    if (c->part != PART_NONE)
        return;
    c->rank = rank_in(VALIDATION, name);
    c->part = c->rank >= 0 ? PART_VALIDATION : PART_NONE;
}

/* Returns true if any of FOLDERS is called like a part, whatever it holds. */
static bool has_part_name(const struct listing *folders) {
    for (size_t i = 0; i < folders->count; i++)
        if (rank_in(TRAINING, folders->items[i].path) >= 0 ||
            rank_in(VALIDATION, folders->items[i].path) >= 0)
            return true;
    return false;
}

/* Lists the folders of DIR/NAME, or of DIR with an empty NAME. Files are left out here without a
 * word, as the later scan reports them. */
static int list_folders(const char *dir, const char *name, struct listing *ret, struct error *err) {
    char path[PATH_MAX];
    struct skipped_files left = {0};
    if (snprintf(path, sizeof(path), "%s%s%s", dir, name[0] != '\0' ? "/" : "", name) >=
        (int)sizeof(path))
        return error_set(err, EXIT_CODE_DATA, "%.64s...: path too long", dir);
    int result = folder_list_classes(path, ret, &left, err);
    skipped_files_done(&left);
    return result;
}

/* Fails if the folder NAME is called like a part and cannot be opened: it must not be mistaken for
 * an empty one, which is ignored. Other folders are reported by the later scan. */
static int check_part(const struct candidates *all, int dir, const char *name, struct error *err) {
    cleanup_fd int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool part = rank_in(TRAINING, name) >= 0 || rank_in(VALIDATION, name) >= 0;
    if (fd < 0 && part)
        return error_set_errno(err, EXIT_CODE_DATA, "%s/%s", all->dir, name);
    return 0;
}

/* Fills the candidates: folders with pictures. One that has them only directly cannot be a part,
 * but may be a class. */
static int gather(struct candidates *ret, const struct listing *folders, struct error *err) {
    cleanup_fd int dir = open(ret->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ret->list = calloc(folders->count + 1, sizeof(*ret->list));
    if (dir < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", ret->dir);
    if (ret->list == NULL)
        return error_no_memory(err, "listing folders");
    for (size_t i = 0; i < folders->count; i++) {
        struct candidate *c = &ret->list[ret->count];
        const char *name = folders->items[i].path;
        if (check_part(ret, dir, name, err) != 0)
            return -1;
        if (!holds_picture(dir, name, 0, false))
            continue;
        judge_name(c, name);
        /* A second search, as the first one stops at a picture directly in the folder. */
        c->nested = holds_picture(dir, name, 0, true);
        ret->count++;
        if (c->nested && list_folders(ret->dir, name, &c->folders, err) != 0)
            return -1;
    }
    return 0;
}

/* Returns true if FOLDERS has NAME, in the same case: classes are names that must match. */
static bool has(const struct listing *folders, const char *name) {
    for (size_t i = 0; i < folders->count; i++)
        if (strcmp(folders->items[i].path, name) == 0)
            return true;
    return false;
}

/* Returns true if the two have a folder of the same name, as parts of one set have classes. */
static bool share(const struct listing *a, const struct listing *b) {
    for (size_t i = 0; i < a->count; i++)
        if (has(b, a->items[i].path))
            return true;
    return false;
}

/* Returns the preferred folder for a part among those with class folders, or NULL. The first in the
 * list of names is taken: "train" rather than "training". */
static const struct candidate *find_part(const struct candidates *c, enum part part) {
    const struct candidate *best = NULL;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].part == part && c->list[i].nested &&
            (best == NULL || c->list[i].rank < best->rank))
            best = &c->list[i];
    return best;
}

/* Appends "a/, b/" for the candidates that are WANTED, at most four of them, to TEXT of SIZE
 * bytes. */
static void add_names(char *text, size_t size, const struct candidates *c,
                      bool (*wanted)(const struct candidate *c)) {
    size_t shown = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t used = strlen(text);
        if (!wanted(&c->list[i]))
            continue;
        if (shown == 4) {
            (void)snprintf(text + used, size - used, ", ...");
            return;
        }
        (void)snprintf(text + used, size - used, "%s%.64s/", shown++ > 0 ? ", " : "",
                       c->list[i].name);
    }
}

/* The four kinds of candidates, for add_names and count. */
static bool is_other(const struct candidate *c) {
    return c->part == PART_NONE;
}

static bool could_be_part(const struct candidate *c) {
    return c->part != PART_NONE && c->nested;
}

static bool has_part_name_alone(const struct candidate *c) {
    return c->part != PART_NONE && !c->nested;
}

static bool is_any(const struct candidate *c) {
    return c->name[0] != '\0';
}

/* Returns how many of the candidates are WANTED. */
static size_t count(const struct candidates *c, bool (*wanted)(const struct candidate *c)) {
    size_t found = 0;
    for (size_t i = 0; i < c->count; i++)
        found += wanted(&c->list[i]);
    return found;
}

/* Sets an error with both readings, and what to do for each of them; returns -1. */
static int refuse(const struct candidates *c, const char *why, struct error *err) {
    char all[512] = "";
    add_names(all, sizeof(all), c, is_any);
    return error_set(err, EXIT_CODE_DATA,
                     "%s: %s: either the classes are %s, or these are parts for training and "
                     "evaluation; for the former move them into %s/train, for the latter give "
                     "--data and --validation the part itself (%s/train), or rename",
                     c->dir, why, all, c->dir, c->dir);
}

/* Chooses DIR's parts; TRAINING or VALIDATION is NULL if there is none. A single candidate is a
 * part in any case, so that the error about what it lacks names it. */
static void take_parts(struct splits *ret, const struct candidates *c,
                       const struct candidate *training, const struct candidate *validation) {
    size_t parts = 0;
    ret->parts = true;
    for (size_t i = 0; i < c->count && parts < SPLITS_PARTS_MAX; i++)
        if (could_be_part(&c->list[i]) || c->count == 1)
            memcpy(ret->all[parts++], c->list[i].name, sizeof(ret->all[0]));
    if (training != NULL)
        memcpy(ret->training, training->name, sizeof(ret->training));
    if (validation != NULL)
        memcpy(ret->validation, validation->name, sizeof(ret->validation));
}

/* For a folder in which all folders have names of parts. If none of several has class folders, they
 * may be classes or parts, and are refused. Single ones without class folders are not used, which
 * the note says. */
static int choose_among_parts(struct splits *ret, const struct candidates *c, struct error *err) {
    const struct candidate *training = find_part(c, PART_TRAINING);
    if (count(c, could_be_part) == 0 && c->count > 1)
        return refuse(c, "pictures without class folders", err);
    if (count(c, could_be_part) == 0) { /* the later scan reports what is missing */
        take_parts(ret, c, c->list, c->list);
        return 0;
    }
    take_parts(ret, c, training, find_part(c, PART_VALIDATION));
    if (count(c, has_part_name_alone) == 0)
        return 0;
    (void)snprintf(ret->note, sizeof(ret->note),
                   "%.256s: not used, because they have no class folders: ", c->dir);
    add_names(ret->note, sizeof(ret->note), c, has_part_name_alone);
    return 0;
}

/* Returns true if a folder within a candidate has the name of a folder beside it: DIR/val/cat,
 * DIR/cat. */
static bool repeats_others(const struct candidates *c) {
    for (size_t i = 0; i < c->count; i++)
        for (size_t j = 0; j < c->count; j++)
            if (could_be_part(&c->list[i]) && is_other(&c->list[j]) &&
                has(&c->list[i].folders, c->list[j].name))
                return true;
    return false;
}

/* Returns true if a folder that is no part has classes of the training part in it: it may be a part
 * with an unusual name, such as "extra". */
static bool others_are_like(const struct candidates *c, const struct candidate *training) {
    for (size_t i = 0; i < c->count; i++)
        if (is_other(&c->list[i]) && share(&c->list[i].folders, &training->folders))
            return true;
    return false;
}

/* For a folder with candidates for parts and others beside them. It takes them as parts only if
 * training and evaluation have a class in common and nothing speaks against it, and else as
 * classes. */
static int choose_among_all(struct splits *ret, const struct candidates *c, struct error *err) {
    const struct candidate *training = find_part(c, PART_TRAINING);
    const struct candidate *validation = find_part(c, PART_VALIDATION);
    bool pair =
        training != NULL && validation != NULL && share(&training->folders, &validation->folders);
    if (repeats_others(c) || (pair && others_are_like(c, training)))
        return refuse(c, "two readings", err);
    /* The folders beside the parts are left unused, which a user should learn of. */
    if (pair) {
        take_parts(ret, c, training, validation);
        (void)snprintf(ret->note, sizeof(ret->note),
                       "%.256s: read as parts, %.64s/ and %.64s/; not used: ", c->dir,
                       training->name, validation->name);
        add_names(ret->note, sizeof(ret->note), c, is_other);
        return 0;
    }
    (void)snprintf(ret->note, sizeof(ret->note), "%.256s: ", c->dir);
    add_names(ret->note, sizeof(ret->note), c, could_be_part);
    size_t used = strlen(ret->note);
    (void)snprintf(
        ret->note + used, sizeof(ret->note) - used,
        " taken for a class like the folders beside it; if it is a part of the data, give "
        "--data (or --validation) that folder itself");
    return 0;
}

/* Without a candidate that could be a part DIR holds classes, and there is nothing to explain. */
static int choose(struct splits *ret, const struct candidates *c, struct error *err) {
    if (c->count > 0 && count(c, is_other) == 0)
        return choose_among_parts(ret, c, err);
    return count(c, could_be_part) == 0 ? 0 : choose_among_all(ret, c, err);
}

int splits_find(struct splits *ret, const char *dir, struct error *err) {
    cleanup_listing struct listing folders = {0};
    struct candidates all = {.dir = dir};
    *ret = (struct splits){.parts = false};
    if (list_folders(dir, "", &folders, err) != 0)
        return -1;
    /* The common case: no folder has the name of a part, and the search for pictures is not
     * needed. */
    int result = !has_part_name(&folders) ? 0 : gather(&all, &folders, err);
    if (result == 0)
        result = choose(ret, &all, err);
    candidates_done(&all);
    return result;
}
