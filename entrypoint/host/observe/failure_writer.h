/* The failure file's way to the disk: a child of this process does it, so that a disk that stalls
 * holds up nobody but the child, which has a deadline. It holds no descriptor of this process: a
 * child that cannot die keeps no link to another host open.
 *
 * Where another process has the folder (output_lock.h) nothing is cleared away or written there. */
#ifndef ENTRYPOINT_HOST_OBSERVE_FAILURE_WRITER_H
#define ENTRYPOINT_HOST_OBSERVE_FAILURE_WRITER_H

#include "entrypoint/os/child.h"
#include "entrypoint/outcome/verdict.h"

#include <stdbool.h>
#include <stdint.h>

/* From the verdict to the end of waiting for the disk. */
#define FAILURE_WRITER_PATIENCE (1500 * CLOCK_MILLISECOND)

struct failure_writer {
    struct reaper *reaper; /* NULL: not open */
    const char *base_dir;
    struct child child; /* pid 0: none */
    int64_t clear_by;   /* until then an earlier file may be cleared away; 0: it has been */
    int answer;         /* what it has to say; -1: none */
    int owed;           /* errno: it could not be started for a verdict; 0: nothing is owed */
    bool writes;        /* it is to leave a file */
    bool written;       /* it has left ours */
    bool refused;       /* by a host of this one's job: a verdict is not the job's */
    bool check;         /* not a job: touches nothing unless it fails */
};

/* BASE_DIR and the reaper outlive it. */
void failure_writer_open(struct failure_writer *f, struct reaper *reaper, const char *base_dir);
/* Ends the child, if there is one yet, and says so where the file is missing because of that. */
void failure_writer_close(struct failure_writer *f);

/* At the beginning of a job or of an attempt: clears away an earlier file, reserves room. A check
 * waits with that until it has failed. */
void failure_writer_prepare(struct failure_writer *f);

/* For a verdict: writes the file, or the mark of success. A file of ours that an earlier verdict on
 * the same attempt has left stays. What became of it goes to the log. The
 * child hears no SIGTERM. */
void failure_writer_conclude(struct failure_writer *f, const struct verdict *verdict);
/* The same for one that something may still change, a failure. */
void failure_writer_conclude_early(struct failure_writer *f, const struct verdict *verdict);

/* When all other processes are gone, where there were too many to start the child: tries once more.
 * False where nothing was owed. */
bool failure_writer_again(struct failure_writer *f, const struct verdict *verdict);

/* For a process without a loop and a reaper: writes the file, and waits until
 * FAILURE_WRITER_PATIENCE is over at most. CLEAR: no program of this job has run, so whatever
 * stands there is an earlier job's, and goes first. */
void failure_writer_run(const char *base_dir, bool clear, const struct verdict *verdict);

#endif
