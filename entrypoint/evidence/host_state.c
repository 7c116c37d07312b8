#include "entrypoint/evidence/host_state.h"

#include "entrypoint/evidence/rank_processes.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/statvfs.h>

enum { TEXT_SIZE = 16 * 1024, MIB = 1024 * 1024 };

static const char *const files[] = {
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu.stat",
    "/sys/fs/cgroup/pids.current",
    "/proc/net/sockstat",
};

static void print_room(const char *root, const char *folder) {
    char path[PATH_MAX];
    struct statvfs st;
    (void)snprintf(path, sizeof(path), "%s%s", root, folder);
    if (statvfs(path, &st) == 0)
        (void)printf("== %s\n%llu of %llu MiB free\n", folder,
                     (unsigned long long)((uint64_t)st.f_bavail * st.f_frsize / MIB),
                     (unsigned long long)((uint64_t)st.f_blocks * st.f_frsize / MIB));
}

int host_state_print(const char *root) {
    static char text[TEXT_SIZE];
    unsigned found = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s%s", root, files[i]);
        size_t size = rank_processes_read(path, text, sizeof(text));
        if (size == 0)
            continue;
        (void)printf("== %s\n%s%s", files[i], text, text[size - 1] == '\n' ? "" : "\n");
        found++;
    }
    print_room(root, "/dev/shm");
    print_room(root, "/tmp");
    return found == 0;
}
