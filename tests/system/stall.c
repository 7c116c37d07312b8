/* Loaded into ringmaster alone (LD_PRELOAD): simulates a disk whose writes take longer than anybody
 * can wait. STALL_SECONDS says how long. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void stall(void) {
    char self[4096];
    const char *seconds = getenv("STALL_SECONDS");
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[size > 0 ? size : 0] = '\0';
    const char *name = strrchr(self, '/');
    if (seconds == NULL || name == NULL || strcmp(name, "/ringmaster") != 0)
        return;
    struct timespec left = {.tv_sec = strtol(seconds, NULL, 10)};
    while (nanosleep(&left, &left) != 0)
        ;
}

static bool is_slow(const char *path) {
    return strstr(path, "failure") != NULL || strncmp(path, "/opt/ml/output", 14) == 0;
}

int fsync(int fd) {
    stall();
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to) {
    stall();
    return (int)syscall(SYS_rename, from, to);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    stall();
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

int unlink(const char *path) {
    if (is_slow(path))
        stall();
    return (int)syscall(SYS_unlink, path);
}

int mkdir(const char *path, mode_t mode) {
    if (is_slow(path))
        stall();
    return (int)syscall(SYS_mkdir, path, mode);
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    unsigned mode = (flags & O_CREAT) != 0 ? va_arg(args, unsigned) : 0;
    va_end(args);
    if (is_slow(path))
        stall();
    return (int)syscall(SYS_open, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    unsigned mode = (flags & O_CREAT) != 0 ? va_arg(args, unsigned) : 0;
    va_end(args);
    if (is_slow(path))
        stall();
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}
