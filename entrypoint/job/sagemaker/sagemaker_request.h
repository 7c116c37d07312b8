/* What SageMaker's hyperparameters ask of a job, read once and typed.
 *
 * Secrets among the values, by their names, are redacted in logs and failure file from then on
 * (common/text/redact.h). */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_SAGEMAKER_REQUEST_H
#define ENTRYPOINT_JOB_SAGEMAKER_SAGEMAKER_REQUEST_H

#include "common/error.h"
#include "entrypoint/job/sagemaker/hyperparameters.h"
#include "entrypoint/job/sagemaker/mpi_options.h"

#include <limits.h>

struct sagemaker_request {
    struct hyperparameters hyperparameters; /* all of them, for the program */
    struct mpi_options mpi_options;         /* how the job is divided into ranks */
    const char *job_name; /* sagemaker_job_name, borrowed from them; NULL: not said */
};

void sagemaker_request_done(struct sagemaker_request *r);

/* Reads BASE_DIR/input/config/hyperparameters.json; without that file nothing is asked. Call
 * sagemaker_request_done in any case. */
int sagemaker_request_read(const char *base_dir, struct sagemaker_request *ret, struct error *err);

/* Writes BASE_DIR/input/config/NAME to PATH. */
int sagemaker_request_path(const char *base_dir, const char *name, char path[PATH_MAX],
                           struct error *err);

#endif
