/* Shims of this host's ranks, started without mpirun.
 *
 * The supervisor starts them itself.
 *
 * Each is `ringmaster rank` in a session of its own, with its place in the variables that mpirun
 * would set (mpi/rank_environment.h). It registers with the supervisor and obeys it alone
 * (host/ranks/rank.h). What a shim prints itself goes to the line callback. */
#ifndef ENTRYPOINT_DIRECT_SHIMS_H
#define ENTRYPOINT_DIRECT_SHIMS_H

#include "common/argv.h"
#include "entrypoint/os/subprocess.h"

#include <stddef.h>

struct shims;

struct shim_process {
    struct shims *shims;
    unsigned rank;
    struct subprocess task;
};

/* All pointers outlive the shims. */
struct shims_options {
    struct loop *loop;
    struct reaper *reaper;
    const char *ringmaster;         /* path of this program */
    const char *host;               /* its name, for the prefix of lines */
    const struct argv *environment; /* of all shims, less their places; only read by shims_start */
    unsigned attempt;
    unsigned first; /* rank of the first one */
    unsigned count;
    unsigned size; /* ranks of the job */
    void (*line)(void *context, const char *line, size_t size);
    /* A shim has ended, killed by SIGNAL or, if that is 0, with CODE; LAST is what it printed last,
     * "" if nothing. */
    void (*ended)(void *context, unsigned rank, int code, int signal, const char *last);
    void *context;
};

struct shims {
    struct shims_options o;
    struct shim_process *items; /* owned; NULL: not started */
    size_t count;
};

/* Starts all of them. On failure those that run are killed, and nothing is called. */
int shims_start(struct shims *s, const struct shims_options *options, struct error *err);
/* Nothing is called any more; shims that run are left to the caller's sweep. S may be zeroed. */
void shims_done(struct shims *s);

#endif
