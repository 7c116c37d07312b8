/* One row of the table at work for one subject: the output of its child becomes a file.
 *
 * Nothing waits for the child: a process that cannot be killed, in a driver for instance, is left
 * to the supervisor, which reaps it. */
#ifndef ENTRYPOINT_EVIDENCE_GATHER_TASK_H
#define ENTRYPOINT_EVIDENCE_GATHER_TASK_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/evidence/gather_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Output that is kept in memory for a reader. */
enum { GATHER_TASK_KEPT = 256 * 1024 };

struct gather_task {
    const struct evidence_row *row;
    struct evidence_subject subject;
    pid_t child;
    int out;         /* its output; -1: it has ended, or not begun */
    int file;        /* -1: nothing was printed yet */
    size_t bytes;    /* in the file */
    struct buf kept; /* the first of them */
    bool begun;
    bool late; /* it was killed at its deadline */
    bool cut;  /* its output was longer than it may be */
};

/* ORDER outlives it. */
void gather_task_init(struct gather_task *t, const struct evidence_row *row,
                      const struct gather_order *order, const struct gather_rank *rank);
void gather_task_done(struct gather_task *t);

/* Starts the child; it has until its row's time is over, and at most until DEADLINE (clock_now()).
 */
int gather_task_start(struct gather_task *t, int64_t deadline, struct error *err);
/* Call it if OUT is readable. FOLDER is a descriptor; *ROOM is how many bytes all tasks may still
 * write, and is updated. */
void gather_task_read(struct gather_task *t, int folder, size_t *room);
/* Call it when the deadline is over: kills the child, and keeps what is there. */
void gather_task_expire(struct gather_task *t, int folder, size_t *room);

#endif
