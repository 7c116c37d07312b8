/* What Open MPI needs for one attempt and is to leave nowhere: a folder for temporary files below
 * ours, and one for the memory that the ranks of a host share. Killed daemons and ranks do not tidy
 * up, and /dev/shm is small, so both go with the attempt. */
#ifndef MPI_SCRATCH_H
#define MPI_SCRATCH_H

#include "common/error.h"
#include "entrypoint/wire/local.h"

enum { SCRATCH_PATH_SIZE = 64 };

struct scratch {
    char temporary[LOCAL_FILE_SIZE]; /* "": not open */
    char shared[SCRATCH_PATH_SIZE];  /* the same on all hosts; "" where there is no /dev/shm */
    int temporary_lock;              /* on the folders (leftovers.h) */
    int shared_lock;
};

/* Makes both. Hosts that share one /dev/shm also share the folder in it, in which files have the
 * names of their hosts; the last to close removes it. Open already is fine. */
int scratch_open(struct scratch *s, const struct local *local, const char *run, unsigned attempt,
                 struct error *err);
void scratch_close(struct scratch *s);

#endif
