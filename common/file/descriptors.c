#include "common/file/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIED_MAX = 65536 };

static void close_one(int fd) {
    (void)close(fd);
}

static void mark_one(int fd) {
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The kernel lists descriptors by number, so that closing them leaves the rest of the list alone.
 */
static void each(int first, void (*one)(int fd)) {
    DIR *open = opendir("/proc/self/fd");
    if (open == NULL) {
        const long limit = sysconf(_SC_OPEN_MAX);
        for (int fd = first; fd < limit && fd < TRIED_MAX; fd++)
            one(fd); /* EBADF if it is not open */
        return;
    }
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        const int fd = entry->d_name[0] == '.' ? -1 : (int)strtol(entry->d_name, NULL, 10);
        if (fd >= first && fd != dirfd(open))
            one(fd);
    }
    (void)closedir(open);
}

void descriptors_close(int first) {
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) != 0)
        each(first, close_one);
}

void descriptors_close_on_exec(int first) {
    if (syscall(SYS_close_range, (unsigned)first, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
        each(first, mark_one);
}
