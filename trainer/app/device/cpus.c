#include "device/cpus.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/str.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_FILE_MAX = 64 * 1024 };

/* One mask wide enough for any machine of today. */
enum { MASK_CORES = 8192 };

static cpu_set_t *read_mask(size_t *ret_size) {
    size_t size = CPU_ALLOC_SIZE(MASK_CORES);
    cpu_set_t *mask = CPU_ALLOC(MASK_CORES);
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
    cpu_set_t *mask = read_mask(&size);
    if (mask == NULL)
        return 1;
    int count = CPU_COUNT_S(size, mask);
    CPU_FREE(mask);
    return count > 0 ? count : 1;
}

int cpus_parse_quota(const char *cpu_max) {
    long long quota = 0;
    long long period = 0;
    if (sscanf(cpu_max, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return 0;
    long long cores = (quota + period - 1) / period;
    return cores > MASK_CORES ? MASK_CORES : (int)cores;
}

/* Reads a small file of the kernel's; an empty text when there is none. */
static const char *read_small(const char *path, struct buf *text) {
    struct error ignored;
    buf_init(text, SMALL_FILE_MAX);
    (void)file_read(path, text, &ignored);
    return buf_text(text);
}

/* Inside a container the cgroup namespace shows its own group as the root. */
static int find_quota(void) {
    cleanup_buf struct buf own = {0};
    const char *groups = read_small("/proc/self/cgroup", &own);
    const char *v2 = strstr(groups, "0::");
    if (v2 != NULL) {
        char path[1024];
        (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/cpu.max", (int)strcspn(v2 + 3, "\n"),
                       v2 + 3);
        cleanup_buf struct buf text = {0};
        int quota = cpus_parse_quota(read_small(path, &text));
        if (quota > 0)
            return quota;
    }
    cleanup_buf struct buf root = {0};
    int quota = cpus_parse_quota(read_small("/sys/fs/cgroup/cpu.max", &root));
    if (quota > 0)
        return quota;
    /* Version 1 keeps the two numbers in two files. */
    cleanup_buf struct buf first = {0};
    cleanup_buf struct buf second = {0};
    char both[128];
    (void)snprintf(both, sizeof(both), "%.40s %.40s",
                   read_small("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &first),
                   read_small("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &second));
    return cpus_parse_quota(both);
}

/* Two ranks with the same key run on the same cores of the same running kernel. */
static uint64_t cores_key(void) {
    cleanup_buf struct buf boot = {0};
    const char *id = read_small("/proc/sys/kernel/random/boot_id", &boot);
    uint64_t key = str_hash(STR_HASH_START, id, strlen(id));
    size_t size = 0;
    cpu_set_t *mask = read_mask(&size);
    if (mask != NULL) {
        key = str_hash(key, mask, size);
        CPU_FREE(mask);
    }
    return key;
}

int cpus_find(struct cpus *cpus, struct comm *comm, struct error *err) {
    int ranks = comm_size(comm);
    cleanup_free uint64_t *keys = calloc((size_t)ranks, sizeof(*keys));
    if (keys == NULL)
        return error_no_memory(err, "keys of all ranks");
    uint64_t own = cores_key();
    if (comm_gather(comm, &own, sizeof(own), keys, err) != 0)
        return -1;
    *cpus = (struct cpus){.affinity = cpus_affinity(), .quota = find_quota()};
    for (int i = 0; i < ranks; i++)
        cpus->sharers += keys[i] == own;
    return 0;
}

int cpus_threads(const struct cpus *cpus, int ranks, int local_ranks) {
    int threads = cpus->affinity / (cpus->sharers > 0 ? cpus->sharers : 1);
    if (cpus->quota > 0 && cpus->quota / local_ranks < threads)
        threads = cpus->quota / local_ranks;
    if (ranks > 1 && threads >= 4)
        threads--;
    return threads > 0 ? threads : 1;
}
