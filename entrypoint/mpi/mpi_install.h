/* Open MPI installation of this container: finds mpirun and its daemon and asks mpirun for its
 * version, asynchronously. */
#ifndef ENTRYPOINT_MPI_MPI_INSTALL_H
#define ENTRYPOINT_MPI_MPI_INSTALL_H

#include "entrypoint/mpi/openmpi.h"
#include "entrypoint/os/subprocess.h"

struct mpi_install {
    char *mpirun; /* owned paths */
    char *daemon;
    struct openmpi version;
    struct subprocess task; /* mpirun --version */
    struct buf words;
    const char *path; /* PATH to look in */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

enum { MPI_INSTALL_SECONDS = 10 };

/* PATH and ENVIRONMENT outlive it. DONE is called once from the loop, with NULL or an error; an
 * immediate failure is returned instead. */
int mpi_install_find(struct mpi_install *t, struct loop *loop, struct reaper *reaper,
                     const char *path, const struct argv *environment,
                     void (*done)(void *context, const struct error *failure), void *context,
                     struct error *err);
void mpi_install_done(struct mpi_install *t);

#endif
