/* What of Open MPI this container has: mpirun, its daemon, and their version, asked from mpirun
 * itself without blocking the loop. */
#ifndef MPI_TOOLS_H
#define MPI_TOOLS_H

#include "entrypoint/mpi/openmpi.h"
#include "entrypoint/os/task.h"

struct tools {
    struct loop *loop;
    char *mpirun; /* owned paths */
    char *daemon;
    struct openmpi version;
    struct task task; /* mpirun --version */
    struct timer deadline;
    struct buf words;
    const char *path; /* PATH to look in */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

enum { TOOLS_SECONDS = 10 };

/* PATH and ENVIRONMENT outlive it. DONE is called once from the loop, with NULL or with what is
 * wrong; an immediate failure is returned instead. */
int tools_find(struct tools *t, struct loop *loop, struct reaper *reaper, const char *path,
               const struct argv *environment,
               void (*done)(void *context, const struct error *failure), void *context,
               struct error *err);
void tools_done(struct tools *t);

#endif
