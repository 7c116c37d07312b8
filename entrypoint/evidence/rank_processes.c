#include "entrypoint/evidence/rank_processes.h"

#include "common/cleanup.h"
#include "entrypoint/os/process_stat.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 4, STATUS_SIZE = 8192 };

size_t rank_processes_read(const char *path, char *ret, size_t size) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, ret, size - 1) : -1;
    ret[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

static bool is_below(pid_t pid, pid_t parent) {
    struct process_stat stat;
    for (unsigned step = 0; step < DEPTH_MAX && pid > 1; step++) {
        if (!process_stat_read(pid, &stat))
            return false;
        pid = stat.parent;
        if (pid == parent)
            return true;
    }
    return false;
}

size_t rank_processes(pid_t parent, pid_t ret[RANK_PROCESSES_MAX]) {
    size_t count = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return 0;
    for (const struct dirent *e = readdir(proc); e != NULL && count < RANK_PROCESSES_MAX;
         e = readdir(proc)) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (isdigit((unsigned char)e->d_name[0]) && is_below(pid, parent))
            ret[count++] = pid;
    }
    (void)closedir(proc);
    return count;
}

bool rank_processes_catches(pid_t pid, int number) {
    static const char mark[] = "\nSigCgt:";
    char path[64];
    char text[STATUS_SIZE];
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    (void)rank_processes_read(path, text, sizeof(text));
    const char *at = strstr(text, mark);
    if (at == NULL || number < 1 || number > 64)
        return false;
    uint64_t caught = strtoull(at + strlen(mark), NULL, 16);
    return (caught >> (number - 1) & 1) != 0;
}

char rank_processes_state(pid_t pid) {
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    (void)rank_processes_read(path, text, sizeof(text));
    const char *end = strrchr(text, ')'); /* the name may contain any byte */
    return end != NULL && end[1] == ' ' && isalpha((unsigned char)end[2]) ? end[2] : '?';
}
