#include "entrypoint/host/monitor/cpu_time.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "entrypoint/os/process_stat.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* More processes than a job's container has; any others are left out. */
enum { PROCESSES_MAX = 4096 };

struct process {
    struct process_stat stat;
    bool below;
};

static size_t list_all(struct process *all) {
    size_t count = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return 0;
    for (const struct dirent *e = readdir(proc); e != NULL && count < PROCESSES_MAX;
         e = readdir(proc))
        if (isdigit((unsigned char)e->d_name[0]) &&
            process_stat_read((pid_t)strtol(e->d_name, NULL, 10), &all[count].stat))
            count++;
    (void)closedir(proc);
    return count;
}

static bool is_marked(const struct process *all, size_t count, pid_t pid) {
    for (size_t i = 0; i < count; i++)
        if (all[i].stat.pid == pid)
            return all[i].below;
    return false;
}

/* Marks all descendants. A child usually has a higher PID than its parent, so one or two rounds are
 * enough. */
static void mark_below(struct process *all, size_t count, pid_t parent) {
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++)
            if (!all[i].below &&
                (all[i].stat.parent == parent || is_marked(all, count, all[i].stat.parent)))
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
            ticks += all[i].stat.own + all[i].stat.reaped;
        else if (all[i].stat.pid == parent)
            ticks += all[i].stat.reaped;
    }
    return ticks * (CLOCK_SECOND / sysconf(_SC_CLK_TCK));
}
