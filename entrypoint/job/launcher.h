/* Launcher of a job's ranks: Open MPI's mpirun, or `direct`, the supervisor of each host.
 *
 * Chosen once on every host, when the program is there, and equal on all of them (host_info.h). A
 * single rank is always started directly. Of several ranks, those that use Open MPI need mpirun:
 * without it each would be a job of its own. Those of MPICH and its kin must not have it. That
 * follows from the libraries that the program names (ringtrain's ranks do without:
 * trainer/comm/tcp); a program that loads MPI later, such as Python with mpi4py, is taken for one
 * without MPI, and its MPI_Init fails if its ranks were started directly
 * (rank_environment_refuse_mpi).
 *
 * If ranks may be lost without ending the job, all are started directly, as mpirun ends all with
 * the first that fails, and so do libraries of MPI. */
#ifndef ENTRYPOINT_JOB_LAUNCHER_H
#define ENTRYPOINT_JOB_LAUNCHER_H

#include "common/error.h"
#include "entrypoint/job/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum launcher_kind { LAUNCHER_MPIRUN, LAUNCHER_DIRECT };
enum { LAUNCHER_WHY_SIZE = 320 };

struct launcher {
    enum launcher_kind kind;
    char why[LAUNCHER_WHY_SIZE]; /* text after "because "; "" before the choice */
};

struct launcher_facts {
    enum settings_launcher setting;
    size_t ranks;
    int64_t lost_ranks;  /* that may be lost without ending the job */
    const char *program; /* its path */
    const char *library; /* of MPI, that it is linked against; "": none */
    bool over_tcp;       /* it is ringtrain: its ranks find each other without MPI */
    bool options;        /* the job has options that only mpirun understands */
    bool mpirun;         /* one is in PATH */
};

/* Chooses, or says why no launcher can start this job: code 65 where settings contradict each
 * other, 127 where mpirun is needed and not there. */
int launcher_choose(const struct launcher_facts *facts, struct launcher *ret, struct error *err);

/* True if LIBRARY is one of MPICH, MVAPICH or Intel MPI: their ranks find each other by PMI-1
 * (direct/pmi.h) when they are started directly. */
bool launcher_is_pmi_library(const char *library);
/* True if LIBRARY, a name such as libmpi.so.40, is one of MPI. */
bool launcher_is_mpi_library(const char *library);

/* The name as in RINGMASTER_LAUNCHER. */
const char *launcher_name(enum launcher_kind kind);

#endif
