/* Rank of a process that something in it has named by number, as NCCL's RAS does.
 *
 * That number is the process's own, of its own pid namespace (NSpid, proc_pid_status(5)): where a
 * rank has a namespace of its own it is not the number here. Read from /proc, which no disk holds
 * up; processes further down than PROCESS_OWNER_DEPTH below their shim are not looked at. */
#ifndef ENTRYPOINT_EVIDENCE_PROCESS_OWNER_H
#define ENTRYPOINT_EVIDENCE_PROCESS_OWNER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESS_OWNER_DEPTH = 8, PROCESS_OWNER_WALK_MAX = 8192 };

struct process_owner_rank {
    int64_t rank;
    pid_t shim;
};

/* Writes the rank of each of COUNT processes: -1 if it is of none, or cannot be told from a process
 * of another rank with the same number. At most one walk through /proc. */
void process_owner_find(const struct process_owner_rank *ranks, size_t rank_count,
                        const int64_t *pids, size_t count, int64_t *ret);

#endif
