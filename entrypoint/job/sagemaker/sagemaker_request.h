/* Requests about a job in SageMaker's hyperparameters.
 *
 * They are read once and typed. No other file asks for a hyperparameter by its name.
 *
 * Secrets among the values, by their names, are redacted in logs and failure file from then on
 * (common/text/redact.h). */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_SAGEMAKER_REQUEST_H
#define ENTRYPOINT_JOB_SAGEMAKER_SAGEMAKER_REQUEST_H

#include "common/error.h"
#include "entrypoint/job/sagemaker/hyperparameters.h"
#include "entrypoint/job/sagemaker/mpi_options.h"

#include <limits.h>
#include <stddef.h>

struct sagemaker_request {
    struct hyperparameters hyperparameters; /* all of them, for the program */
    struct mpi_options mpi_options;         /* how the job is divided into ranks */
    /* Borrowed from the hyperparameters or the environment; NULL: not said. The two about code are
     * also read from variables of the same name in upper case. */
    const char *job_name;         /* sagemaker_job_name */
    const char *program;          /* sagemaker_program */
    const char *submit_directory; /* sagemaker_submit_directory */
    const char *region;           /* sagemaker_region */
    const char *log_level;        /* sagemaker_container_log_level */
};

void sagemaker_request_done(struct sagemaker_request *r);

/* Reads BASE_DIR/input/config/hyperparameters.json; without that file only the variables ask.
 * ENVIRONMENT outlives *RET. Call sagemaker_request_done in any case. */
int sagemaker_request_read(const char *base_dir, char *const *environment,
                           struct sagemaker_request *ret, struct error *err);

/* Does the same with the text of such a file; SOURCE names it in messages. */
int sagemaker_request_parse(const char *bytes, size_t size, const char *source,
                            char *const *environment, struct sagemaker_request *ret,
                            struct error *err);

/* Writes BASE_DIR/input/config/NAME to PATH. */
int sagemaker_request_path(const char *base_dir, const char *name, char path[PATH_MAX],
                           struct error *err);

#endif
