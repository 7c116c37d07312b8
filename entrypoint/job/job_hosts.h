/* Hosts of this host's job, with their slots and ports.
 *
 * These are the hosts that the platform lists, restricted and filled as settings and
 * hyperparameters ask. */
#ifndef ENTRYPOINT_JOB_JOB_HOSTS_H
#define ENTRYPOINT_JOB_JOB_HOSTS_H

#include "common/error.h"
#include "common/warnings.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/ports.h"
#include "entrypoint/job/sagemaker/sagemaker_request.h"
#include "entrypoint/job/settings.h"

#include <stdbool.h>
#include <stddef.h>

struct job_hosts {
    struct cluster cluster;
    /* The first of them, if the platform's hosts are several jobs (sagemaker/instance_groups.h).
     * "": they are one job. */
    char part[HOST_NAME_SIZE];
    struct ports ports;
    struct warnings warnings;
};

/* ONCE_PER_HOST: each host runs the program once, whatever its slots. After an error in slots or in
 * how they suit the settings, cluster and ports are in *RET all the same (ports.control is not 0),
 * so that this host can join the others and report it. Free RET->cluster in any case. */
int job_hosts_read(const struct settings *settings, const struct sagemaker_request *request,
                   bool once_per_host, char *const *environment, struct job_hosts *ret,
                   struct error *err);

/* Returns the slots of a host without a configured number: the hyperparameter's, else one per GPU,
 * else one per core of AWS Neuron devices, else one; without the hyperparameter, at least as many
 * as all requested processes need. ROOT is put before /dev and /sys: "" except in tests. */
unsigned job_hosts_slots(const struct mpi_options *w, size_t hosts, const char *root);

#endif
