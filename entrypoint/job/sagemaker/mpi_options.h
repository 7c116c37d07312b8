/* Options in the sagemaker_* hyperparameters, typed: whether the hosts are one MPI job, which of
 * them, how many ranks, and further options for mpirun.
 *
 * Names are those of SageMaker's SDK (distribution={"mpi": {...}}). An invalid value is an error
 * that names the key. */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_MPI_OPTIONS_H
#define ENTRYPOINT_JOB_SAGEMAKER_MPI_OPTIONS_H

#include "common/error.h"
#include "entrypoint/job/sagemaker/hyperparameters.h"

#include <jansson.h>

enum wish { WISH_UNSAID, WISH_YES, WISH_NO };

struct mpi_options {
    enum wish mpi;       /* sagemaker_mpi_enabled */
    unsigned slots;      /* sagemaker_mpi_num_of_processes_per_host; 0: not said */
    unsigned ranks;      /* sagemaker_mpi_num_processes, of the whole job; 0: not said */
    const char *options; /* sagemaker_mpi_custom_mpi_options, borrowed; "": none */
    json_t *groups;      /* owned; sagemaker_distribution_instance_groups, texts; NULL: not said */
};

void mpi_options_done(struct mpi_options *w);

/* H outlives *RET. Call mpi_options_done in any case. */
int mpi_options_read(const struct hyperparameters *h, struct mpi_options *ret, struct error *err);

#endif
