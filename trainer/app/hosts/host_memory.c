#include "trainer/app/hosts/host_memory.h"

#include "common/buf.h"
#include "common/file/file.h"
#include "common/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BOOT_ID_MAX = 256 };

static uint64_t host_of(void) {
    cleanup_buf struct buf boot = {.max = BOOT_ID_MAX};
    struct stat processes;
    if (stat("/proc/self/ns/pid", &processes) != 0 ||
        file_read("/proc/sys/kernel/random/boot_id", &boot, NULL) != 0)
        return 0;
    uint64_t host = str_hash(STR_HASH_START, boot.data, boot.size);
    return str_hash(host, &processes.st_ino, sizeof(processes.st_ino));
}

struct host_memory host_memory_none(void) {
    return (struct host_memory){.host = host_of()};
}

void host_memory_offer(struct host_memory *own, int fd) {
    struct stat memory;
    if (fstat(fd, &memory) != 0)
        return;
    own->pid = getpid();
    own->fd = fd;
    own->device = memory.st_dev;
    own->inode = memory.st_ino;
}

int host_memory_first(const struct host_memory *all, int rank) {
    int first = 0;
    while (first < rank && (all[rank].host == 0 || all[first].host != all[rank].host))
        first++;
    return first;
}

int host_memory_open(const struct host_memory *offer, int flags) {
    char path[64];
    struct stat memory;
    if (offer->pid == 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)offer->pid,
                   (long long)offer->fd);
    const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &memory) == 0 && memory.st_dev == offer->device &&
        memory.st_ino == offer->inode)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}
