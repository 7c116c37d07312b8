/* TF_CONFIG, which describes a job to TensorFlow's MultiWorkerMirroredStrategy: every rank is a
 * worker. Set if RINGMASTER_TF_CONFIG asks for it, as programs that find it expect TensorFlow.
 *
 * Workers are named by host, as only the master knows all addresses. Their ports are the last ones
 * of the range for MPI messages, which programs of TensorFlow leave alone.
 *
 * Source: tf.distribute.cluster_resolver.TFConfigClusterResolver of TensorFlow 2.21. */
#ifndef ENTRYPOINT_HOST_RANKS_TF_ENVIRONMENT_H
#define ENTRYPOINT_HOST_RANKS_TF_ENVIRONMENT_H

#include "common/argv.h"
#include "common/error.h"
#include "entrypoint/job/job.h"
#include "entrypoint/mpi/rank_environment.h"

/* On the host: adds the list of workers for tf_environment_add_rank, if the settings ask for it. */
int tf_environment_add_workers(const struct job *job, struct argv *environment, struct error *err);

/* In the shim: puts TF_CONFIG in place of the list of workers, if there is one. */
int tf_environment_add_rank(const struct rank_place *place, struct argv *environment,
                            struct error *err);

#endif
