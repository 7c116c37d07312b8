#include "trainer/data/format/shard_list.h"

#include "common/cleanup.h"
#include "common/grow.h"
#include "common/str.h"
#include "trainer/data/format/formats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Finds the files of a set by their content, and only then looks at names. Each regular file's
 * first 512 bytes are shown to the formats in turn (formats.h); what none knows is no shard.
 *
 * The order of the list is the order of the samples wherever these have no names of their own, and
 * the numbers of shards in an index. Hence it must be the same on all hosts, and does not depend on
 * readdir. */

/* Prefixes of names, in order of preference: converters' "train-00000-of-01024", CIFAR's
 * "data_batch_1.bin", and MNIST's "t10k" for evaluation. */
static const char *const TRAINING[] = {"train", "data_batch", NULL};
const char *const SHARD_VALIDATION_WORDS[] = {"validation", "valid", "val",  "test",
                                              "eval",       "dev",   "t10k", NULL};

/* The format is a constant table and is not owned. */
void shard_list_done(struct shard_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct shard_list){0};
}

/* A file that cannot be opened or read is an error: it might be a shard, and the set would silently
 * be smaller. */
int shard_list_format(const char *path, const struct format **ret, struct error *err) {
    cleanup_shard_file struct shard_file file = SHARD_FILE_CLOSED;
    uint8_t head[FORMAT_HEAD_SIZE];
    *ret = NULL;
    if (shard_file_open(&file, path, err) != 0)
        return -1;
    /* Formats must cope with fewer bytes than FORMAT_HEAD_SIZE, but then these are all. */
    size_t size = file.size < sizeof(head) ? (size_t)file.size : sizeof(head);
    if (shard_file_read(&file, 0, head, size, err) != 0)
        return -1;
    const char *slash = strrchr(path, '/');
    *ret = format_of(slash != NULL ? slash + 1 : path, head, size);
    return 0;
}

/* Adds a copy of PATH, a shard of FORMAT. The first shard decides the format of the set. */
static int add(struct shard_list *list, const char *path, const struct format *format,
               struct error *err) {
    if (list->count > 0 && list->format != format)
        return error_set(err, EXIT_CODE_DATA,
                         "%s is of the format %s, and %s of %s; expected one format in a data set",
                         list->paths[0], list->format->name, path, format->name);
    if (list->count == SHARD_LIST_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: more than %d shards", path, SHARD_LIST_MAX);
    if (grow_array(&list->paths, &list->capacity, list->count + 1, sizeof(*list->paths),
                   "listing shards", err) != 0)
        return -1;
    char *copy = strdup(path);
    if (copy == NULL)
        return error_no_memory(err, "listing shards");
    list->paths[list->count++] = copy;
    list->format = format;
    return 0;
}

/* Numbers by value: shard 10 comes after shard 9, however many digits they have. */
static int compare_paths(const void *a, const void *b) {
    return str_compare_natural(*(char *const *)a, *(char *const *)b);
}

/* For the cleanup attribute; NULL is fine. */
static void close_folder(DIR **folder) {
    if (*folder != NULL)
        (void)closedir(*folder);
}

/* Adds FOLDER/NAME if it is a shard. Anything but a regular file is passed over, and so is an entry
 * that is gone by now, or a dangling link. */
static int add_entry(struct shard_list *list, const char *folder, const char *name,
                     struct error *err) {
    char path[PATH_MAX];
    struct stat status;
    const struct format *format = NULL;
    int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error_set(err, EXIT_CODE_DATA, "%.64s...: path too long", folder);
    if (stat(path, &status) != 0)
        return errno == ENOENT ? 0 : error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    if (!S_ISREG(status.st_mode))
        return 0;
    if (shard_list_format(path, &format, err) != 0)
        return -1;
    return format != NULL ? add(list, path, format, err) : 0;
}

/* Adds the shards in FOLDER with names that begin with PREFIX, and sorts them. An end of the folder
 * and an error are both NULL from readdir; errno tells them apart. */
static int list_folder(struct shard_list *list, const char *folder, const char *prefix,
                       struct error *err) {
    __attribute__((cleanup(close_folder))) DIR *entries = opendir(folder);
    if (entries == NULL)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", folder);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(entries);
        if (entry == NULL && errno != 0)
            return error_set_errno(err, EXIT_CODE_DATA, "%s", folder);
        if (entry == NULL)
            break;
        if (entry->d_name[0] != '.' && str_starts_with(entry->d_name, prefix) &&
            add_entry(list, folder, entry->d_name, err) != 0)
            return -1;
    }
    if (list->count > 0)
        qsort(list->paths, list->count, sizeof(*list->paths), compare_paths);
    return 0;
}

/* Sets *RET to whether PATH has folders in it: of classes, or of parts. Links to folders count, and
 * names that begin with a dot do not. */
static int has_folders(const char *path, bool *ret, struct error *err) {
    __attribute__((cleanup(close_folder))) DIR *entries = opendir(path);
    *ret = false;
    if (entries == NULL)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    for (const struct dirent *entry; !*ret && (entry = readdir(entries)) != NULL;) {
        struct stat status;
        *ret = entry->d_name[0] != '.' && fstatat(dirfd(entries), entry->d_name, &status, 0) == 0 &&
               S_ISDIR(status.st_mode);
    }
    return 0;
}

/* Tells the three ways apart in which a set is given. A star is part of the word here, quoted from
 * the shell. A prefix may be empty, and then it is the whole folder, even one with folders in
 * it. */
static int find(struct shard_list *list, const char *path, struct error *err) {
    const size_t length = strlen(path);
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    struct stat status;
    char folder[PATH_MAX];
    char prefix[NAME_MAX + 1];
    /* PATH_MAX counts the NUL at the end. */
    if (length == 0 || length >= sizeof(folder))
        return error_set(err, EXIT_CODE_DATA,
                         "'%.64s', %zu bytes, is no path; expected 1 to %d bytes: a shard, a "
                         "folder, or FOLDER/PREFIX*",
                         path, length, PATH_MAX - 1);
    /* FOLDER/PREFIX*, or PREFIX* in the present folder. */
    if (path[length - 1] == '*' && strlen(name) <= NAME_MAX) {
        (void)snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - path) : 1,
                       slash != NULL ? path : ".");
        (void)snprintf(prefix, sizeof(prefix), "%.*s", (int)strlen(name) - 1, name);
        return list_folder(list, folder[0] != '\0' ? folder : "/", prefix, err);
    }
    if (stat(path, &status) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    bool folders = false;
    if (S_ISDIR(status.st_mode) && has_folders(path, &folders, err) != 0)
        return -1;
    if (S_ISDIR(status.st_mode))
        /* A folder of class folders is left to folder.c, even if an archive lies beside them. */
        return folders ? 0 : list_folder(list, path, "", err);
    /* A single file; the set has one shard, or none. */
    const struct format *format = NULL;
    if (shard_list_format(path, &format, err) != 0)
        return -1;
    return format != NULL ? add(list, path, format, err) : 0;
}

/* RET is empty on failure, and need not be freed then. */
int shard_list_find(struct shard_list *ret, const char *path, struct error *err) {
    *ret = (struct shard_list){0};
    if (find(ret, path, err) == 0)
        return 0;
    shard_list_done(ret);
    return -1;
}

/* Returns the first of the prefixes with which a shard's name begins, in any case; "" if none does.
 * Prefixes are tried in their order, each against all shards. */
static const char *find_prefix(const struct shard_list *list, const char *const *prefixes) {
    for (; *prefixes != NULL; prefixes++)
        for (size_t i = 0; i < list->count; i++) {
            const char *slash = strrchr(list->paths[i], '/');
            const char *name = slash != NULL ? slash + 1 : list->paths[i];
            if (strncasecmp(name, *prefixes, strlen(*prefixes)) == 0)
                return *prefixes;
        }
    return "";
}

/* A part for evaluation is looked for only if there is one for training. The prefixes of RET are
 * constants. */
int shard_list_parts(struct shard_parts *ret, const char *folder, struct error *err) {
    cleanup_shard_list struct shard_list list = {0};
    *ret = (struct shard_parts){.training = "", .validation = ""};
    if (shard_list_find(&list, folder, err) != 0)
        return -1;
    ret->found = list.count > 0;
    ret->training = find_prefix(&list, TRAINING);
    ret->validation = ret->training[0] != '\0' ? find_prefix(&list, SHARD_VALIDATION_WORDS) : "";
    return 0;
}
