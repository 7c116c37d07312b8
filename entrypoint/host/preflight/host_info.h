/* Host information sent with a join: versions and settings, which must be equal on all hosts, and
 * resources, for `ringmaster check` and for warnings before the job begins. */
#ifndef ENTRYPOINT_HOST_PREFLIGHT_HOST_INFO_H
#define ENTRYPOINT_HOST_PREFLIGHT_HOST_INFO_H

#include "common/error.h"
#include "common/net_address.h"
#include "entrypoint/os/build_id.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { HOST_INFO_VERSION_SIZE = 32 };

struct host_info {
    char version[HOST_INFO_VERSION_SIZE];  /* ringmaster's */
    char build[BUILD_ID_SIZE];             /* likewise; "": not known */
    char openmpi[HOST_INFO_VERSION_SIZE];  /* "" where no mpirun is needed */
    char launcher[HOST_INFO_VERSION_SIZE]; /* must be equal: what starts its ranks; "": not sent */
    uint64_t job;               /* hash of what all hosts must agree on: hosts, slots, port */
    uint64_t program;           /* likewise: the program of every slot */
    bool device;                /* this container has a device of the kind that UCX uses */
    bool ucx;                   /* Open MPI has the component for UCX */
    bool failover;              /* must be equal: failover is on */
    int64_t dead_seconds;       /* must be equal: how long a host may be silent */
    struct net_address address; /* of the job's interface; unset: unknown */
    int64_t cpus;
    int64_t memory_mib; /* what this container may use */
    int64_t shm_mib;    /* size of /dev/shm */
    int64_t files;      /* open descriptors allowed */
    int64_t boot;       /* clock_boot() */
    int64_t clock;      /* wall clock, ns */
};

struct job;
struct mpi_install;

void host_info_gather(const struct job *job, const struct mpi_install *mpi_install,
                      struct host_info *ret);

json_t *host_info_json(const struct host_info *f);
int host_info_parse(const json_t *object, struct host_info *ret, struct error *err);

/* Checks if THEIRS may take part in a job of OURS; the error says what differs. */
int host_info_compare(const struct host_info *ours, const struct host_info *theirs,
                      struct error *err);

#endif
