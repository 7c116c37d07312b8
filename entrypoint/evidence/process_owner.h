/* Rank to which a process ID belongs.
 *
 * NCCL's RAS reports processes by their own IDs, those in their own pid namespace (NSpid,
 * proc_pid_status(5)): if a rank has such a namespace, /proc here has another ID. They are read
 * from /proc, which does not depend on disks. Processes more than PROCESS_OWNER_DEPTH levels below
 * their shim are not looked at. */
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

/* Writes the rank of each of COUNT processes: -1 if it is of none, or may as well be a process
 * of another rank with the same number. At most one walk through /proc. */
void process_owner_find(const struct process_owner_rank *ranks, size_t rank_count,
                        const int64_t *pids, size_t count, int64_t *ret);

#endif
