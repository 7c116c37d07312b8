#include "trainer/app/command/prepare/prepare_archives.h"

#include "trainer/data/download/download.h"
#include "trainer/data/prepare/target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void prepare_archives_done(struct prepare_archives *archives) {
    free(archives->paths);
    *archives = (struct prepare_archives){0};
}

/* What a set takes on the disk beside its archives, in percent of them, as files are copied: for
 * archives packed with gzip the unpacked one, too. Scaled pictures take less than this. */
static int64_t share_of_set(enum prepare_kind kind, const struct prepare_flags *f) {
    const bool scaled = f->resize > 0 && !f->raw;
    switch (kind) {
    case PREPARE_FLOWERS:
        return scaled ? 100 : 205;
    case PREPARE_CIFAR:
        return 250;
    case PREPARE_COCO:
        return 115;
    default:
        return scaled ? 0 : 102;
    }
}

/* The device of PATH, or of the nearest folder above it that is there. */
static dev_t device_of(const char *path) {
    char at[PATH_MAX];
    struct stat status;
    (void)snprintf(at, sizeof(at), "%s", path);
    while (stat(at, &status) != 0) {
        char *slash = strrchr(at, '/');
        if (slash == NULL)
            return stat(".", &status) == 0 ? status.st_dev : 0;
        if (slash == at)
            return stat("/", &status) == 0 ? status.st_dev : 0;
        *slash = '\0';
    }
    return status.st_dev;
}

/* Sets the folder that is fetched to. */
static int place(struct prepare_archives *ret, const struct prepare_flags *f, const char **folder,
                 struct error *err) {
    if (f->download_dir != NULL) {
        *folder = f->download_dir;
        return 0;
    }
    if (snprintf(ret->folder, sizeof(ret->folder), "%s/" TARGET_OWN "download", f->target) >=
        PATH_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", f->target);
    *folder = ret->folder;
    return target_check_usable(f->target, err);
}

static int refuse_flags(const struct prepare_flags *f, struct error *err) {
    const char *flag = f->user != NULL            ? "user"
                       : f->password_file != NULL ? "password-file"
                       : f->sha256 != NULL        ? "sha256"
                       : f->download_dir != NULL  ? "download-dir"
                       : f->http                  ? "http"
                                                  : NULL;
    return flag == NULL ? 0
                        : error_set(err, EXIT_CODE_USAGE,
                                    "--%s: for addresses of https://, and none is given", flag);
}

int prepare_archives_bring(struct prepare_archives *ret, enum prepare_kind kind,
                           struct prepare_flags *f, struct error *err) {
    const char *addresses[PREPARE_SOURCES_MAX];
    struct download_options o = {.addresses = addresses,
                                 .user = f->user,
                                 .password_file = f->password_file,
                                 .sha256 = f->sha256,
                                 .plain = f->http};
    *ret = (struct prepare_archives){0};
    for (int i = 0; i < f->source_count; i++)
        if (download_is_address(f->sources[i]))
            addresses[o.count++] = f->sources[i];
    if (o.count == 0)
        return refuse_flags(f, err);
    ret->paths = calloc(o.count, sizeof(*ret->paths));
    if (ret->paths == NULL)
        return error_no_memory(err, "paths of archives");
    ret->count = o.count;
    if (place(ret, f, &o.folder, err) != 0 || download_plan(&o, ret->paths, err) != 0)
        return -1;
    o.spare = device_of(o.folder) == device_of(f->target) ? share_of_set(kind, f) : 0;
    if (download_all(&o, err) != 0)
        return -1;
    for (int i = 0, next = 0; i < f->source_count; i++)
        if (download_is_address(f->sources[i]))
            f->sources[i] = ret->paths[next++];
    return 0;
}

void prepare_archives_remove(const struct prepare_archives *archives) {
    if (archives->folder[0] == '\0')
        return;
    /* The archives, and parts of them that interrupted runs have left: the folder has nothing else.
     */
    DIR *dir = opendir(archives->folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
    (void)rmdir(archives->folder);
}
