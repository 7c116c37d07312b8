#include "host/cpu_time.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than a container of a job has: the rest is left out. */
enum { PROCESSES_MAX = 4096 };

struct process {
    pid_t pid;
    pid_t parent;
    int64_t own;    /* ticks */
    int64_t reaped; /* of its children that are gone */
    bool below;
};

static bool read_process(pid_t pid, struct process *ret) {
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    text[size > 0 ? size : 0] = '\0';
    const char *at = strrchr(text, ')'); /* the name may hold anything */
    if (at == NULL || strlen(at) < 4)
        return false;
    char *end = NULL;
    *ret = (struct process){.pid = pid, .parent = (pid_t)strtol(at + 3, &end, 10)};
    for (int field = 5; field <= 17; field++) { /* numbered as in proc(5) */
        int64_t value = strtoll(end, &end, 10);
        if (field == 14 || field == 15)
            ret->own += value;
        else if (field == 16 || field == 17)
            ret->reaped += value;
    }
    return true;
}

static size_t list_all(struct process *all) {
    size_t count = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return 0;
    for (const struct dirent *e = readdir(proc); e != NULL && count < PROCESSES_MAX;
         e = readdir(proc))
        if (isdigit((unsigned char)e->d_name[0]) &&
            read_process((pid_t)strtol(e->d_name, NULL, 10), &all[count]))
            count++;
    (void)closedir(proc);
    return count;
}

static bool is_marked(const struct process *all, size_t count, pid_t pid) {
    for (size_t i = 0; i < count; i++)
        if (all[i].pid == pid)
            return all[i].below;
    return false;
}

/* A child mostly has a higher number than its parent, so that one round or two do. */
static void mark_below(struct process *all, size_t count, pid_t parent) {
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++)
            if (!all[i].below && (all[i].parent == parent || is_marked(all, count, all[i].parent)))
                all[i].below = more = true;
    }
}

int64_t cpu_time_below(pid_t parent) {
    int64_t ticks = 0;
    cleanup_free struct process *all = calloc(PROCESSES_MAX, sizeof(*all));
    if (all == NULL)
        return 0;
    size_t count = list_all(all);
    mark_below(all, count, parent);
    for (size_t i = 0; i < count; i++) {
        if (all[i].below)
            ticks += all[i].own + all[i].reaped;
        else if (all[i].pid == parent)
            ticks += all[i].reaped;
    }
    return ticks * (CLOCK_SECOND / sysconf(_SC_CLK_TCK));
}
