#include "entrypoint/host/monitor/oom_kills.h"

#include "common/buf.h"
#include "common/file/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 64 * 1024, COUNTS_MAX = 4096 };

static const struct version {
    const char *line; /* line of /proc/self/cgroup after its number, up to the group's path */
    const char *mount;
    const char *counts;
} versions[] = {
    {"::", "/sys/fs/cgroup", "memory.events"},
    {":memory:", "/sys/fs/cgroup/memory", "memory.oom_control"},
};

/* The number after "oom_kill" in TEXT; older kernels have no such counter. */
static int64_t find_count(const char *text) {
    static const char key[] = "oom_kill ";
    for (const char *at = text; *at != '\0'; at += strspn(at, "\n")) {
        if (strncmp(at, key, sizeof(key) - 1) == 0)
            return strtoll(at + sizeof(key) - 1, NULL, 10);
        at += strcspn(at, "\n");
    }
    return -1;
}

static int64_t read_count(const char *root, const struct version *v, const char *group,
                          size_t size) {
    char path[PATH_MAX];
    cleanup_buf struct buf text;
    buf_init(&text, COUNTS_MAX);
    int length =
        snprintf(path, sizeof(path), "%s%s%.*s/%s", root, v->mount, (int)size, group, v->counts);
    if (length < 0 || (size_t)length >= sizeof(path) || file_read(path, &text, NULL) != 0)
        return -1;
    return find_count(buf_text(&text));
}

/* Inside a container its own group is mounted at the root, whatever its path outside. */
static int64_t count_of(const char *root, const struct version *v, const char *groups) {
    const char *line = strstr(groups, v->line);
    if (line == NULL)
        return -1;
    const char *group = line + strlen(v->line);
    int64_t count = read_count(root, v, group, strcspn(group, "\n"));
    return count >= 0 ? count : read_count(root, v, "", 0);
}

int64_t oom_kills(const char *root) {
    char path[PATH_MAX];
    cleanup_buf struct buf groups;
    buf_init(&groups, GROUPS_MAX);
    int length = snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (length < 0 || (size_t)length >= sizeof(path) || file_read(path, &groups, NULL) != 0)
        return -1;
    int64_t count = -1;
    for (size_t i = 0; count < 0 && i < sizeof(versions) / sizeof(versions[0]); i++)
        count = count_of(root, &versions[i], buf_text(&groups));
    return count;
}
