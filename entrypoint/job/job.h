/* Configuration of a job, as one container knows it.
 *
 * Settings, cluster, SageMaker's request, channels, program and ports are read once at the start,
 * before the container connects to others, and are constant afterwards. */
#ifndef ENTRYPOINT_JOB_JOB_H
#define ENTRYPOINT_JOB_JOB_H

#include "common/error.h"
#include "common/warnings.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/download_sources.h"
#include "entrypoint/job/launcher.h"
#include "entrypoint/job/ports.h"
#include "entrypoint/job/sagemaker/channels.h"
#include "entrypoint/job/sagemaker/metric_definitions.h"
#include "entrypoint/job/sagemaker/sagemaker_request.h"
#include "entrypoint/job/settings.h"
#include "entrypoint/job/user_program.h"

#include <stdbool.h>

struct job {
    struct settings settings;
    struct cluster cluster; /* the hosts of this host's job; each has its slots */
    /* The first of them, if the platform's hosts are several jobs (sagemaker/instance_groups.h): it
     * distinguishes the upload targets. "": they are one job. */
    char part[HOST_NAME_SIZE];
    struct sagemaker_request request;
    struct channels channels;
    struct download_sources sources; /* downloaded before the job begins */
    struct metric_definitions metrics;
    struct user_program program; /* empty until job_resolve() if its code is downloaded first */
    struct launcher launcher;    /* chosen when the program is there (host/mpi_setup.h) */
    struct ports ports;
    bool once_per_host;       /* run the program once per host, whatever the slots */
    bool bare_output;         /* its lines are printed without host and rank in front */
    struct warnings warnings; /* for the log: ignored settings */
};

void job_done(struct job *j);

#define JOB_ONCE_PER_HOST "--once-per-host"

/* ARGUMENTS are those after `train`, NULL at the end, the first of them possibly JOB_ONCE_PER_HOST;
 * ENVIRONMENT outlives *RET. Nothing is changed and nothing opened but configuration files.
 *
 * The first error counts. Cluster and ports are still read if possible and stay in *RET
 * (ports.control is not 0), so that this host can join the others and report why it cannot run.
 * Call job_done in any case. */
int job_read(const char *const *arguments, char *const *environment, struct job *ret,
             struct error *err);

/* Finds the program, once its code has been downloaded. ARGUMENTS are those after --once-per-host.
 */
int job_resolve(struct job *j, const char *const *arguments, char *const *environment,
                struct error *err);

/* Returns the path of the trainer that is installed next to this program, owned by the caller;
 * NULL: there is none. */
char *job_trainer(void);

#endif
