#include "entrypoint/job/sagemaker/sagemaker_request.h"

#include "common/text/redact.h"

#include <stdio.h>

void sagemaker_request_done(struct sagemaker_request *r) {
    mpi_options_done(&r->mpi_options);
    hyperparameters_done(&r->hyperparameters);
    r->job_name = NULL;
}

int sagemaker_request_path(const char *base_dir, const char *name, char path[PATH_MAX],
                           struct error *err) {
    int size = snprintf(path, PATH_MAX, "%s/input/config/%s", base_dir, name);
    if (size < 0 || size >= PATH_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "SAGEMAKER_BASE_DIR is too long");
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

int sagemaker_request_read(const char *base_dir, struct sagemaker_request *ret, struct error *err) {
    char path[PATH_MAX];
    *ret = (struct sagemaker_request){0};
    if (sagemaker_request_path(base_dir, "hyperparameters.json", path, err) != 0 ||
        hyperparameters_read(path, &ret->hyperparameters, err) != 0)
        return -1;
    ret->job_name = hyperparameters_get(&ret->hyperparameters, "sagemaker_job_name");
    return redact_secrets(&ret->hyperparameters, err) != 0
               ? -1
               : mpi_options_read(&ret->hyperparameters, &ret->mpi_options, err);
}
