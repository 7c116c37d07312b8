/* Everything that one container knows about its job before it talks to anybody: settings, cluster,
 * hyperparameters, channels, program, ports. Read once at start; constant afterwards. */
#ifndef ENTRYPOINT_JOB_JOB_H
#define ENTRYPOINT_JOB_JOB_H

#include "common/error.h"
#include "common/warnings.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/download_sources.h"
#include "entrypoint/job/ports.h"
#include "entrypoint/job/program.h"
#include "entrypoint/job/sagemaker/channels.h"
#include "entrypoint/job/sagemaker/hyperparameters.h"
#include "entrypoint/job/sagemaker/metric_definitions.h"
#include "entrypoint/job/sagemaker/mpi_options.h"
#include "entrypoint/job/settings.h"

#include <stdbool.h>

struct job {
    struct settings settings;
    struct cluster cluster; /* the hosts of this host's job; each has its slots */
    /* The first of them, where the platform's hosts are several jobs (sagemaker/instance_groups.h):
     * so this one's targets are told from the others'. "": they are one job. */
    char part[HOST_NAME_SIZE];
    struct hyperparameters hyperparameters;
    struct mpi_options mpi_options; /* of theirs */
    struct channels channels;
    struct download_sources sources; /* what is fetched before the job begins */
    struct metric_definitions metrics;
    struct program program; /* empty until job_resolve() where its code is fetched first */
    struct ports ports;
    bool once_per_host;       /* the program is, whatever there are of slots */
    struct warnings warnings; /* for the log: what was ignored */
};

void job_done(struct job *j);

#define JOB_ONCE_PER_HOST "--once-per-host"

/* ARGUMENTS are the words behind `train`, NULL at the end, the first of them perhaps
 * JOB_ONCE_PER_HOST; ENVIRONMENT outlives *RET. Nothing is changed and nothing opened but
 * configuration files.
 *
 * The first error counts. Cluster and ports are read all the same where they can be, and stay in
 * *RET (ports.control is not 0), so that this host can join the others and tell them why it cannot
 * run. Call job_done in any case. */
int job_read(const char *const *arguments, char *const *environment, struct job *ret,
             struct error *err);

/* Finds the program, once its code has been fetched. ARGUMENTS are those behind --once-per-host. */
int job_resolve(struct job *j, const char *const *arguments, char *const *environment,
                struct error *err);

/* A host's slots where nothing says them of the host itself: the hyperparameter's, else one a GPU,
 * else one a core of AWS Neuron devices, else one; and without the hyperparameter no fewer than it
 * takes for all the processes that were asked for. ROOT is put in front of /dev and /sys: "" but in
 * tests. */
unsigned job_slots(const struct mpi_options *w, size_t hosts, const char *root);

#endif
