/* What Open MPI needs on this host: free ports, and its programs. One rank needs neither. */
#ifndef HOST_EQUIPPING_H
#define HOST_EQUIPPING_H

#include "common/argv.h"
#include "entrypoint/host/vacancy.h"
#include "entrypoint/job/job.h"
#include "entrypoint/mpi/tools.h"
#include "entrypoint/os/loop.h"

/* All pointers outlive it. */
struct equipping_options {
    struct loop *loop;
    struct reaper *reaper;
    const struct job *job;
    char *const *environment; /* this process's own */
    const char *socket;       /* of this container's supervisor */
    struct tools *tools;      /* to be found; the caller's to free */
    void (*done)(void *context, const struct error *failure); /* NULL: all is there */
    void *context;
};

struct equipping {
    struct equipping_options o;
    struct vacancy vacancy;
    struct argv environment; /* of mpirun --version */
    struct timer soon;
    struct error failure;
};

/* DONE is called once, from the loop. */
void equipping_start(struct equipping *e, const struct equipping_options *options);
/* Nothing is to begin any more: who waits for ports does so no longer. For a zeroed E, too. */
void equipping_drop(struct equipping *e);
void equipping_close(struct equipping *e);

#endif
