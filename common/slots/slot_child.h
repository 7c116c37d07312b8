/* Process in a slot: started by posix_spawn in a process group of its own, so that what it starts
 * ends with it. What it prints goes to a file. It is ended by SIGTERM, and SIGKILL after a while.
 */
#ifndef COMMON_SLOTS_SLOT_CHILD_H
#define COMMON_SLOTS_SLOT_CHILD_H

#include "common/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Zeroed but for PIDFD -1 it has none. */
struct slot_child {
    pid_t pid;
    int pidfd;     /* readable once it has ended; -1: none runs */
    int code;      /* its exit code, or 128 + the signal */
    int64_t begun; /* clock_now() */
    int64_t heard; /* when its file last grew, or it began */
    int64_t kill;  /* when it gets SIGKILL; 0: not asked to end */
    int64_t size;  /* of its file */
    char output[PATH_MAX];
};

/* Starts ARGV[0] with ENVIRONMENT; stdout and stderr are appended to the file OUTPUT, or with ANEW
 * replace it. */
int slot_child_start(struct slot_child *c, char *const *argv, char *const *environment,
                     const char *output, bool anew, struct error *err);
bool slot_child_runs(const struct slot_child *c);
/* Sends SIGTERM to its group; GRACE nanoseconds later slot_child_look sends SIGKILL. */
void slot_child_end(struct slot_child *c, int64_t grace);
/* Takes its end, if it has ended; notes whether it has printed something. */
void slot_child_look(struct slot_child *c, int64_t now);
/* Kills it at once and waits for its end. */
void slot_child_done(struct slot_child *c);

#endif
