#include "trainer/app/device/cpus.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"
#include "common/system/cpus.h"

#include <stdlib.h>

enum { SMALL_FILE_MAX = 1024 };

/* Two ranks with the same key run on the same cores under the same kernel. */
static uint64_t cores_key(void) {
    cleanup_buf struct buf boot;
    buf_init(&boot, SMALL_FILE_MAX);
    (void)file_read("/proc/sys/kernel/random/boot_id", &boot, NULL);
    uint64_t key = str_hash(STR_HASH_START, buf_text(&boot), boot.size);
    size_t size = 0;
    cpu_set_t *mask = cpus_mask(&size);
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
    *cpus = (struct cpus){.affinity = cpus_affinity(), .quota = cpus_quota("")};
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
