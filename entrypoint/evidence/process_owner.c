#include "entrypoint/evidence/process_owner.h"

#include "entrypoint/evidence/rank_processes.h"
#include "entrypoint/os/process_stat.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, SEVERAL = -2, STATUS_SIZE = 4096 };

/* Returns the number that PID has for itself, the last of its numbers. */
static int64_t own_number(pid_t pid) {
    static const char mark[] = "\nNSpid:";
    char path[64];
    char text[STATUS_SIZE];
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    (void)rank_processes_read(path, text, sizeof(text));
    const char *at = strstr(text, mark);
    int64_t number = pid; /* of kernels without the line */
    if (at == NULL)
        return number;
    for (at += strlen(mark); *at != '\0' && *at != '\n';) {
        char *end = NULL;
        const long one = strtol(at, &end, 10);
        if (end == at)
            break;
        number = one;
        at = end;
    }
    return number;
}

/* Returns the rank of the shim above PID, or NONE. */
static int64_t rank_above(const struct process_owner_rank *ranks, size_t count, pid_t pid) {
    struct process_stat stat;
    for (unsigned step = 0; step < PROCESS_OWNER_DEPTH && pid > 1; step++) {
        if (!process_stat_read(pid, &stat))
            return NONE;
        pid = stat.parent;
        for (size_t i = 0; i < count; i++)
            if (ranks[i].shim == pid)
                return ranks[i].rank;
    }
    return NONE;
}

static void take(int64_t rank, int64_t number, const int64_t *pids, size_t count, int64_t *ret) {
    for (size_t i = 0; i < count; i++)
        if (pids[i] == number)
            ret[i] = ret[i] == NONE || ret[i] == rank ? rank : SEVERAL;
}

/* Ranks of this namespace, as nearly all are, need no walk. */
static size_t find_here(const struct process_owner_rank *ranks, size_t rank_count,
                        const int64_t *pids, size_t count, int64_t *ret) {
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_pid = pids[i] > 1 && pids[i] <= INT_MAX;
        ret[i] = is_pid ? rank_above(ranks, rank_count, (pid_t)pids[i]) : NONE;
        if (ret[i] != NONE && own_number((pid_t)pids[i]) != pids[i])
            ret[i] = NONE;
        left += ret[i] == NONE;
    }
    return left;
}

static void walk(const struct process_owner_rank *ranks, size_t rank_count, const int64_t *pids,
                 size_t count, int64_t *ret) {
    DIR *proc = opendir("/proc");
    size_t seen = 0;
    if (proc == NULL)
        return;
    for (const struct dirent *e = readdir(proc); e != NULL && seen < PROCESS_OWNER_WALK_MAX;
         e = readdir(proc)) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        seen++;
        const pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        const int64_t rank = rank_above(ranks, rank_count, pid);
        if (rank != NONE)
            take(rank, own_number(pid), pids, count, ret);
    }
    (void)closedir(proc);
}

void process_owner_find(const struct process_owner_rank *ranks, size_t rank_count,
                        const int64_t *pids, size_t count, int64_t *ret) {
    if (find_here(ranks, rank_count, pids, count, ret) > 0 && rank_count > 0)
        walk(ranks, rank_count, pids, count, ret);
    for (size_t i = 0; i < count; i++)
        if (ret[i] == SEVERAL)
            ret[i] = NONE;
}
