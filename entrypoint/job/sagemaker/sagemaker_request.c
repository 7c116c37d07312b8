#include "entrypoint/job/sagemaker/sagemaker_request.h"

#include "common/argv.h"
#include "common/text/redact.h"

#include <stdio.h>

void sagemaker_request_done(struct sagemaker_request *r) {
    mpi_options_done(&r->mpi_options);
    hyperparameters_done(&r->hyperparameters);
    *r = (struct sagemaker_request){0};
}

int sagemaker_request_path(const char *base_dir, const char *name, char path[PATH_MAX],
                           struct error *err) {
    int size = snprintf(path, PATH_MAX, "%s/input/config/%s", base_dir, name);
    if (size < 0 || size >= PATH_MAX)
        return error_set(
            err, EXIT_CODE_CONFIG,
            "SAGEMAKER_BASE_DIR, %.64s..., is too long: a path below it has more than %d bytes",
            base_dir, PATH_MAX - 1);
    return 0;
}

static int redact_secrets(const struct hyperparameters *h, struct error *err) {
    for (size_t i = 0; i < h->count; i++)
        if (redact_is_secret_name(h->items[i].name) &&
            (redact_add(h->items[i].text, err) != 0 ||
             (h->items[i].flag != NULL && redact_add(h->items[i].flag, err) != 0)))
            return -1;
    return 0;
}

/* Secrets first: a message about what follows must not show them. */
static int read_request(char *const *environment, struct sagemaker_request *ret,
                        struct error *err) {
    const struct hyperparameters *h = &ret->hyperparameters;
    if (redact_secrets(h, err) != 0)
        return -1;
    ret->job_name = hyperparameters_get(h, "sagemaker_job_name");
    ret->program = hyperparameters_get(h, "sagemaker_program");
    if (ret->program == NULL)
        ret->program = env_get(environment, "SAGEMAKER_PROGRAM");
    ret->submit_directory = hyperparameters_get(h, "sagemaker_submit_directory");
    if (ret->submit_directory == NULL)
        ret->submit_directory = env_get(environment, "SAGEMAKER_SUBMIT_DIRECTORY");
    ret->region = hyperparameters_get(h, "sagemaker_region");
    ret->log_level = hyperparameters_get(h, "sagemaker_container_log_level");
    return mpi_options_read(h, &ret->mpi_options, err);
}

int sagemaker_request_parse(const char *bytes, size_t size, const char *source,
                            char *const *environment, struct sagemaker_request *ret,
                            struct error *err) {
    *ret = (struct sagemaker_request){0};
    if (hyperparameters_parse(bytes, size, source, &ret->hyperparameters, err) != 0)
        return -1;
    return read_request(environment, ret, err);
}

int sagemaker_request_read(const char *base_dir, char *const *environment,
                           struct sagemaker_request *ret, struct error *err) {
    char path[PATH_MAX];
    *ret = (struct sagemaker_request){0};
    if (sagemaker_request_path(base_dir, "hyperparameters.json", path, err) != 0 ||
        hyperparameters_read(path, &ret->hyperparameters, err) != 0)
        return -1;
    return read_request(environment, ret, err);
}
