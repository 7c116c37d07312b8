/* Writer of the failure file.
 *
 * It works in a child process with a deadline, so that a stalled disk blocks nothing else. The
 * child holds no descriptor of this process: a child that cannot die keeps no link to another
 * host open.
 *
 * If another process has the output directory (output_lock.h) nothing is removed or written there.
 */
#ifndef ENTRYPOINT_HOST_OBSERVE_FAILURE_WRITER_H
#define ENTRYPOINT_HOST_OBSERVE_FAILURE_WRITER_H

#include "entrypoint/os/child.h"
#include "entrypoint/outcome/verdict.h"

#include <stdbool.h>
#include <stdint.h>

/* Time from the verdict until waiting for the disk ends. */
#define FAILURE_WRITER_PATIENCE (1500 * CLOCK_MILLISECOND)

struct failure_writer {
    struct reaper *reaper; /* NULL: not open */
    const char *base_dir;
    struct child child; /* pid 0: none */
    int64_t clear_by;   /* deadline for removing an earlier file; 0: done */
    int answer;         /* the socket of its answer; -1: none */
    int owed;           /* errno of a failed start of the child for a verdict; 0: none */
    bool writes;        /* the child is to write a file */
    bool written;       /* it has written our file */
    bool refused;       /* by a host of this job: a verdict is not the job's */
    bool check;         /* `ringmaster check`: writes only if it fails */
};

/* BASE_DIR and the reaper outlive it. */
void failure_writer_open(struct failure_writer *f, struct reaper *reaper, const char *base_dir);
/* Ends the child, if there is one, and logs a file that is missing because of that. */
void failure_writer_close(struct failure_writer *f);

/* At the start of a job or attempt: removes an earlier file and reserves space. A check does that
 * only once it has failed. */
void failure_writer_prepare(struct failure_writer *f);

/* Writes the file for a verdict, or the mark of success. A file that an earlier verdict on the same
 * attempt has left stays. The result is logged. The child ignores SIGTERM. */
void failure_writer_conclude(struct failure_writer *f, const struct verdict *verdict);
/* Likewise for a verdict that may still change, a failure. */
void failure_writer_conclude_early(struct failure_writer *f, const struct verdict *verdict);

/* Tries again once all other processes are gone, if there were too many to start the child. Returns
 * false if nothing was left to write. */
bool failure_writer_again(struct failure_writer *f, const struct verdict *verdict);

/* For a process without a loop and a reaper: writes the file and waits for at most
 * FAILURE_WRITER_PATIENCE. CLEAR: no program of this job has run, so that any file there is an
 * earlier job's and is removed first. */
void failure_writer_run(const char *base_dir, bool clear, const struct verdict *verdict);

#endif
