#include "trainer/app/device/memory_left.h"

#include "common/buf.h"
#include "common/file/file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SMALL_FILE_MAX = 64 * 1024, KIB = 1024 };

/* Version 1 writes "no limit" as a number of about this size. */
static const int64_t NO_LIMIT = INT64_MAX / 2;

/* Reads a small file of the kernel's; returns an empty text if there is none. */
static const char *read_small(const char *root, const char *folder, const char *name,
                              struct buf *text) {
    char path[PATH_MAX];
    int size = snprintf(path, sizeof(path), "%s%s%s", root, folder, name);
    buf_init(text, SMALL_FILE_MAX);
    if (size > 0 && (size_t)size < sizeof(path))
        (void)file_read(path, text, NULL);
    return buf_text(text);
}

/* Returns the number after KEY at the beginning of a line of TEXT; 0 if there is none. */
static int64_t number_of(const char *text, const char *key) {
    size_t size = strlen(key);
    for (const char *at = text; *at != '\0'; at += strspn(at, "\n")) {
        if (strncmp(at, key, size) == 0)
            return strtoll(at + size, NULL, 10);
        at += strcspn(at, "\n");
    }
    return 0;
}

/* Reads a file with one number; returns -1 if there is none, or "max". */
static int64_t read_number(const char *root, const char *folder, const char *name) {
    cleanup_buf struct buf text = {0};
    const char *words = read_small(root, folder, name, &text);
    char *end = NULL;
    long long value = strtoll(words, &end, 10);
    return end == words ? -1 : value;
}

static void bound(struct memory_left *left, int64_t bytes, const char *bounds) {
    bytes = bytes > 0 ? bytes : 0;
    if (bytes < left->bytes)
        *left = (struct memory_left){bytes, bounds};
}

/* --- control groups --------------------------------------------------------------------------- */

static const struct version {
    const char *line; /* what precedes the group's path in /proc/self/cgroup */
    const char *mount;
    const char *most, *used;
    const char *active, *inactive; /* keys of the page cache's sizes in memory.stat */
} VERSIONS[] = {
    {"0::", "/sys/fs/cgroup", "/memory.max", "/memory.current", "active_file ", "inactive_file "},
    {":memory:", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
     "total_active_file ", "total_inactive_file "},
};

/* Returns the group's limit of swap space; version 1 does not have it separately. */
static int64_t swap_of(const char *root, const char *group, int64_t swap) {
    cleanup_buf struct buf text = {0};
    const char *words = read_small(root, group, "/memory.swap.max", &text);
    if (words[0] == '\0')
        return 0;
    int64_t most = strncmp(words, "max", 3) == 0 ? INT64_MAX : strtoll(words, NULL, 10);
    int64_t used = read_number(root, group, "/memory.swap.current");
    most -= used > 0 ? used : 0;
    return most < 0 ? 0 : most < swap ? most : swap;
}

static void bound_by_group(struct memory_left *left, const char *root, const struct version *v,
                           const char *group, int64_t swap, int sharers) {
    cleanup_buf struct buf stat = {0};
    int64_t most = read_number(root, group, v->most);
    int64_t used = read_number(root, group, v->used);
    if (most < 0 || most > NO_LIMIT || used < 0)
        return;
    const char *text = read_small(root, group, "/memory.stat", &stat);
    int64_t files = number_of(text, v->active) + number_of(text, v->inactive);
    bound(left, (most - used + files + swap_of(root, group, swap)) / sharers,
          "the memory limit of this container");
}

/* The limits of all parent groups apply as well. Inside a container its own group is mounted at
 * the root, whatever its path outside is. */
static void bound_by_groups(struct memory_left *left, const char *root, const struct version *v,
                            const char *groups, int64_t swap, int sharers) {
    char group[PATH_MAX];
    const char *line = strstr(groups, v->line);
    const char *own = line != NULL ? line + strlen(v->line) : "";
    int size = snprintf(group, sizeof(group), "%s%.*s", v->mount, (int)strcspn(own, "\n"), own);
    size_t mount = strlen(v->mount);
    if (size < 0 || (size_t)size >= sizeof(group))
        return;
    for (;;) {
        bound_by_group(left, root, v, group, swap, sharers);
        char *slash = strrchr(group, '/');
        if (strlen(group) <= mount || slash == NULL)
            return;
        *slash = '\0';
    }
}

/* --- the machine and the process -------------------------------------------------------------- */

static void bound_by_limit(struct memory_left *left, int resource, int64_t used,
                           const char *bounds) {
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur < INT64_MAX)
        bound(left, (int64_t)limit.rlim_cur - used, bounds);
}

struct memory_left memory_left(const char *root, int sharers) {
    cleanup_buf struct buf memory = {0}, status = {0}, groups = {0};
    struct memory_left left = {INT64_MAX, "nothing"};
    const char *text = read_small(root, "/proc", "/meminfo", &memory);
    int64_t there = number_of(text, "MemAvailable:") * KIB;
    int64_t swap = number_of(text, "SwapFree:") * KIB;
    if (there > 0)
        bound(&left, (there + swap) / sharers, "this machine");
    text = read_small(root, "/proc/self", "/cgroup", &groups);
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++)
        bound_by_groups(&left, root, &VERSIONS[i], text, swap, sharers);
    text = read_small(root, "/proc/self", "/status", &status);
    bound_by_limit(&left, RLIMIT_AS, number_of(text, "VmSize:") * KIB,
                   "the limit on a process's address space (ulimit -v)");
    bound_by_limit(&left, RLIMIT_DATA, number_of(text, "VmData:") * KIB,
                   "the limit on a process's data (ulimit -d)");
    return left;
}
