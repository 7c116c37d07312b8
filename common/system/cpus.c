#include "common/system/cpus.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Wide enough for any machine of today. */
enum { SMALL_FILE_MAX = 64 * 1024, MASK_CPUS = 8192 };

cpu_set_t *cpus_mask(size_t *ret_size) {
    size_t size = CPU_ALLOC_SIZE(MASK_CPUS);
    cpu_set_t *mask = CPU_ALLOC(MASK_CPUS);
    if (mask == NULL)
        return NULL;
    CPU_ZERO_S(size, mask);
    if (sched_getaffinity(0, size, mask) != 0)
        CPU_SET_S(0, size, mask);
    *ret_size = size;
    return mask;
}

int cpus_affinity(void) {
    size_t size = 0;
    cpu_set_t *mask = cpus_mask(&size);
    if (mask == NULL)
        return 1;
    int count = CPU_COUNT_S(size, mask);
    CPU_FREE(mask);
    return count > 0 ? count : 1;
}

int cpus_parse_quota(const char *cpu_max) {
    char *rest = NULL;
    long long quota = strtoll(cpu_max, &rest, 10);
    long long period = strtoll(rest, NULL, 10);
    if (quota <= 0 || period <= 0)
        return 0;
    long long cpus = (quota - 1) / period + 1;
    return cpus > MASK_CPUS ? MASK_CPUS : (int)cpus;
}

/* Reads a small kernel file; the text is empty if there is none. */
static const char *read_small(const char *root, const char *path, struct buf *text) {
    char whole[PATH_MAX];
    int size = snprintf(whole, sizeof(whole), "%s%s", root, path);
    buf_init(text, SMALL_FILE_MAX);
    if (size > 0 && (size_t)size < sizeof(whole))
        (void)file_read(whole, text, NULL);
    return buf_text(text);
}

/* Control groups version 2. Inside a container the namespace shows the container's own group as the
 * root. */
static int read_own_group(const char *root) {
    char path[1024];
    cleanup_buf struct buf groups = {0};
    cleanup_buf struct buf text = {0};
    const char *own = strstr(read_small(root, "/proc/self/cgroup", &groups), "0::");
    if (own == NULL)
        return 0;
    own += strlen("0::");
    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/cpu.max", (int)strcspn(own, "\n"), own);
    return cpus_parse_quota(read_small(root, path, &text));
}

int cpus_quota(const char *root) {
    char both[128];
    cleanup_buf struct buf all = {0};
    cleanup_buf struct buf first = {0};
    cleanup_buf struct buf second = {0};
    int quota = read_own_group(root);
    if (quota == 0)
        quota = cpus_parse_quota(read_small(root, "/sys/fs/cgroup/cpu.max", &all));
    if (quota > 0)
        return quota;
    /* Version 1 keeps quota and period in two files. */
    (void)snprintf(both, sizeof(both), "%.40s %.40s",
                   read_small(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &first),
                   read_small(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", &second));
    return cpus_parse_quota(both);
}

int cpus_usable(const char *root) {
    int affinity = cpus_affinity();
    int quota = cpus_quota(root);
    return quota > 0 && quota < affinity ? quota : affinity;
}
