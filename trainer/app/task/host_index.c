#include "trainer/app/task/host_index.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"
#include "trainer/data/coco/coco_load.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BOOT_ID_MAX = 256 };

/* Location of a rank's shared memory, as told to ranks of the same host. */
struct offer {
    uint64_t host; /* equal for ranks that can see each other's processes; 0: unknown */
    int64_t pid;   /* 0: there is no memory to share */
    int64_t fd;
    uint64_t device, inode; /* identify the memory file */
};

static uint64_t host_of(void) {
    cleanup_buf struct buf boot = {.max = BOOT_ID_MAX};
    struct stat processes;
    if (stat("/proc/self/ns/pid", &processes) != 0 ||
        file_read("/proc/sys/kernel/random/boot_id", &boot, NULL) != 0)
        return 0;
    uint64_t host = str_hash(STR_HASH_START, boot.data, boot.size);
    return str_hash(host, &processes.st_ino, sizeof(processes.st_ino));
}

/* Returns the first rank of this one's host. */
static int first_of(const struct offer *all, int rank) {
    int first = 0;
    while (first < rank && (all[rank].host == 0 || all[first].host != all[rank].host))
        first++;
    return first;
}

static int read_for_host(struct coco_index *ret, const char *json, int *ret_fd, struct offer *own,
                         struct error *err) {
    struct stat memory;
    if (coco_load_sealed(ret, json, ret_fd, err) != 0)
        return -1;
    if (fstat(*ret_fd, &memory) == 0) {
        own->pid = getpid();
        own->fd = *ret_fd;
        own->device = memory.st_dev;
        own->inode = memory.st_ino;
    }
    return 0;
}

static int map_offered(struct coco_index *ret, const char *json, const struct offer *offer) {
    char path[64];
    struct stat memory;
    if (offer->pid == 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)offer->pid,
                   (long long)offer->fd);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &memory) != 0 || memory.st_dev != offer->device ||
        memory.st_ino != offer->inode)
        return -1;
    return coco_load_shared(ret, fd, json, NULL);
}

int host_index_load(struct coco_index *ret, const char *json, struct comm *comm,
                    struct error *err) {
    const int rank = comm_rank(comm);
    cleanup_free struct offer *all = calloc((size_t)comm_size(comm), sizeof(*all));
    cleanup_fd int fd = -1;
    struct offer own = {.host = host_of()};
    if (all == NULL)
        return error_no_memory(err, "an index of annotations");
    if (comm_gather(comm, &own, sizeof(own), all, err) != 0)
        return -1;
    const int first = first_of(all, rank);
    int failed = first == rank ? read_for_host(ret, json, &fd, &own, err) : 0;
    /* If the first rank fails, the others read the file themselves and find out why; the first
     * rank's own error is reported. */
    if (comm_gather(comm, &own, sizeof(own), all, failed == 0 ? err : NULL) != 0)
        return -1;
    if (first != rank && map_offered(ret, json, &all[first]) != 0)
        failed = coco_load(ret, json, NULL, err);
    if (failed != 0)
        return -1;
    /* The memory exists while it is mapped; until then the first rank holds it. */
    if (comm_barrier(comm, err) == 0)
        return 0;
    coco_index_done(ret);
    return -1;
}
