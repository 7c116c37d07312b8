#include "entrypoint/host/preflight/data_look.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A second is enough to say whether the data is there and roughly how much it is, and a check is
 * for no more. Millions of files would take much longer to count. Both times limit this host's own
 * work. The limit of the whole child (preflight_probe.h) is for a file system that hangs.
 *
 * Speed is read from the largest files of all channels, because small ones would measure the
 * opening of files. */

/* Folders below DEPTH_MAX are not counted, so a link that leads back to a folder above it ends.
 * Sizes are in bytes. */
enum { DEPTH_MAX = 8, BLOCK = 1 << 20, MIB = 1 << 20, ADDRESS_SHOWN = 96, SAMPLES = 8 };
/* For counting all channels, and for reading. */
static const int64_t count_time = CLOCK_SECOND, read_time = CLOCK_SECOND / 2;
static const int64_t least_read = 8 * (int64_t)MIB; /* less says nothing of a disk */
static const char index_magic[] = "RTIX";           /* trainer/data/dataset/shard_index.h */

/* Used for one channel, and once more for the samples of all. */
struct found {
    int64_t files, bytes, deadline;  /* deadline: when counting stops, by clock_now() */
    bool more, prepared;             /* more: the deadline came before the end */
    char samples[SAMPLES][PATH_MAX]; /* large files, to be read */
    int64_t sizes[SAMPLES];
};

/* Such a file was written by `ringtrain prepare`. A link is not followed, and a FIFO of that name
 * does not block. */
static bool is_index(int folder, const char *name) {
    char start[sizeof(index_magic) - 1];
    if (strcmp(name, "index") != 0)
        return false;
    cleanup_fd int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && read(fd, start, sizeof(start)) == (ssize_t)sizeof(start) &&
           memcmp(start, index_magic, sizeof(start)) == 0;
}

/* Keeps the largest files. A path that does not fit is no sample. */
static void take_sample(struct found *f, const char *path, const char *name, int64_t size) {
    int least = 0;
    for (int i = 1; i < SAMPLES; i++)
        if (f->sizes[i] < f->sizes[least])
            least = i;
    if (size > f->sizes[least] &&
        snprintf(f->samples[least], PATH_MAX, "%s/%s", path, name) < PATH_MAX)
        f->sizes[least] = size;
}

static void count(struct found *f, const char *path, int depth);

/* Hidden files are left out. Links are followed, so a file counts once for each name that leads to
 * it. */
static void count_entry(struct found *f, DIR *folder, const char *path, const char *name,
                        int depth) {
    char below[PATH_MAX];
    struct stat st;
    if (name[0] == '.' || fstatat(dirfd(folder), name, &st, 0) != 0)
        return;
    if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX &&
        snprintf(below, sizeof(below), "%s/%s", path, name) < PATH_MAX)
        count(f, below, depth + 1);
    if (!S_ISREG(st.st_mode))
        return;
    f->files++;
    f->bytes += st.st_size;
    f->prepared |= is_index(dirfd(folder), name);
    take_sample(f, path, name, st.st_size);
}

/* Stops at the deadline, and sets `more` then. A folder that cannot be opened counts as empty. */
static void count(struct found *f, const char *path, int depth) {
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    while (folder != NULL && !f->more && (entry = readdir(folder)) != NULL) {
        count_entry(f, folder, path, entry->d_name, depth);
        f->more |= clock_now() > f->deadline;
    }
    if (folder != NULL)
        (void)closedir(folder);
}

/* Reads PATH until DEADLINE; returns the bytes. What the page cache has of it is dropped first, as
 * far as the kernel does so. One read() may pass the deadline by the time of a block. */
static int64_t read_file(const char *path, char *block, int64_t deadline) {
    cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int64_t bytes = 0;
    ssize_t got = 1;
    if (fd >= 0)
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    while (fd >= 0 && got > 0 && clock_now() < deadline) {
        got = read(fd, block, BLOCK);
        bytes += got > 0 ? got : 0;
    }
    return bytes;
}

/* Returns MiB a second, or -1 if too little was read to say anything. */
static int64_t read_speed(const struct found *f) {
    cleanup_free char *block = malloc(BLOCK);
    const int64_t begun = clock_now(), deadline = begun + read_time;
    int64_t bytes = 0;
    for (int i = 0; block != NULL && i < SAMPLES && clock_now() < deadline; i++)
        if (f->sizes[i] > 0)
            bytes += read_file(f->samples[i], block, deadline);
    const int64_t took = clock_now() - begun;
    if (bytes < least_read || took <= 0)
        return -1;
    return (int64_t)((double)bytes / MIB * (double)CLOCK_SECOND / (double)took);
}

/* The folder that the channel NAME will be a link to, if it is one of this host. */
static const char *own_folder(const char *address) {
    static const char *const schemes[] = {"file://", "first://"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (str_starts_with(address, schemes[i]))
            return address + strlen(schemes[i]);
    return NULL;
}

/* `found` is too large for the stack. Of the address only what comes before a question mark is
 * shown: what follows may be a signature that grants access. */
static json_t *look_at(const char *base, const char *name, const char *address, int64_t deadline,
                       struct found *all) {
    char path[PATH_MAX];
    struct stat st;
    const char *own = own_folder(address);
    struct found *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return NULL;
    (void)snprintf(path, sizeof(path), "%.3800s/input/data/%.200s", base, name);
    bool here = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    /* The channel itself comes first: the platform may have brought it, or an earlier attempt. */
    if (!here && own != NULL) {
        (void)snprintf(path, sizeof(path), "%.4000s", own);
        here = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    }
    /* A channel after the deadline is still looked at: its first entry is counted, and `more` is
     * set. */
    f->deadline = deadline;
    if (here)
        count(f, path, 0);
    for (int i = 0; i < SAMPLES; i++)
        if (f->sizes[i] > 0)
            take_sample(all, "", f->samples[i] + 1, f->sizes[i]);
    json_t *object =
        json_pack("{s:s, s:s%, s:b, s:I, s:I, s:b, s:b}", "name", name, "from", address,
                  str_utf8_prefix(address, strcspn(address, "?"), ADDRESS_SHOWN), "here", here,
                  "files", (json_int_t)f->files, "mib", (json_int_t)(f->bytes / MIB), "more",
                  f->more, "prepared", f->prepared);
    free(f);
    return object;
}

/* Returns "" for a channel that no source names. */
static const char *address_of(const json_t *sources, const char *name) {
    for (size_t i = 0; i < json_array_size(sources); i++) {
        const json_t *pair = json_array_get(sources, i);
        const char *source = json_string_value(json_array_get(pair, 0));
        const char *address = json_string_value(json_array_get(pair, 1));
        if (source != NULL && address != NULL && strcmp(source, name) == 0)
            return address;
    }
    return "";
}

/* Names of all channels, sorted, as keys of an object. A channel that is both a folder and a source
 * is one key. */
static json_t *names_of(const char *base, const json_t *sources) {
    char path[PATH_MAX];
    json_t *names = json_object();
    (void)snprintf(path, sizeof(path), "%.4000s/input/data", base);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            (void)json_object_set_new(names, entry->d_name, json_true());
    if (folder != NULL)
        (void)closedir(folder);
    for (size_t i = 0; i < json_array_size(sources); i++) {
        const char *name = json_string_value(json_array_get(json_array_get(sources, i), 0));
        if (name != NULL)
            (void)json_object_set_new(names, name, json_true());
    }
    return names;
}

/* Compares elements of a list of strings, for qsort(). */
static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* At most CHANNELS are looked at, sorted by name. The deadline is one for all channels: a large one
 * leaves less for those after it. */
json_t *data_look(const char *base, const json_t *sources) {
    enum { CHANNELS = 20 };
    const char *list[CHANNELS];
    size_t listed = 0;
    const int64_t deadline = clock_now() + count_time;
    struct found *all = calloc(1, sizeof(*all));
    json_t *names = names_of(base, sources), *channels = json_array(), *value = NULL;
    const char *name = NULL;
    json_object_foreach(names, name, value) if (listed < CHANNELS) list[listed++] = name;
    qsort(list, listed, sizeof(*list), by_name);
    for (size_t i = 0; all != NULL && i < listed; i++)
        (void)json_array_append_new(
            channels, look_at(base, list[i], address_of(sources, list[i]), deadline, all));
    json_t *object = json_pack("{s:o, s:I}", "channels", channels, "read_mib",
                               (json_int_t)(all != NULL ? read_speed(all) : -1));
    json_decref(names);
    free(all);
    return object;
}
