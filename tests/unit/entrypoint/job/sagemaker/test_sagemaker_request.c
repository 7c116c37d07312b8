#include "entrypoint/job/sagemaker/sagemaker_request.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/text/redact.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static char base[3800];

static void write_parameters(const char *name, const char *text) {
    char path[PATH_MAX];
    snprintf(base, sizeof(base), "%s/%s", unit_temp_dir(), name);
    snprintf(path, sizeof(path), "%s/input/config", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    CU_ASSERT_EQUAL(sagemaker_request_path(base, "hyperparameters.json", path, NULL) != 0 ||
                        file_publish(path, text, strlen(text), 0644, NULL) != 0,
                    0);
}

static void what_is_asked_is_typed(void) {
    struct sagemaker_request r;
    write_parameters("typed", "{\"lr\":\"0.1\",\"sagemaker_job_name\":\"\\\"job-1\\\"\","
                              "\"sagemaker_mpi_num_of_processes_per_host\":\"3\"}");
    CU_ASSERT_EQUAL(sagemaker_request_read(base, &r, NULL), 0);
    CU_ASSERT_STRING_EQUAL(r.job_name, "job-1");
    CU_ASSERT_EQUAL(r.mpi_options.slots, 3);
    CU_ASSERT_STRING_EQUAL(hyperparameters_get(&r.hyperparameters, "lr"), "0.1");
    sagemaker_request_done(&r);
    CU_ASSERT_PTR_NULL(r.job_name);
}

static void no_file_asks_for_nothing(void) {
    struct sagemaker_request r;
    CU_ASSERT_EQUAL(sagemaker_request_read("/nonexistent", &r, NULL), 0);
    CU_ASSERT_PTR_NULL(r.job_name);
    CU_ASSERT_EQUAL(r.hyperparameters.count, 0);
    CU_ASSERT_EQUAL(r.mpi_options.mpi, WISH_UNSAID);
    sagemaker_request_done(&r);
}

static void secrets_are_redacted_even_if_the_rest_is_wrong(void) {
    struct sagemaker_request r;
    struct error err = {0};
    write_parameters("secret",
                     "{\"api-token\":\"tell-nobody\",\"sagemaker_mpi_enabled\":\"maybe\"}");
    CU_ASSERT_EQUAL(sagemaker_request_read(base, &r, &err), -1);
    ASSERT_CONTAINS(err.text, "sagemaker_mpi_enabled");
    cleanup_buf struct buf redacted;
    buf_init(&redacted, 64);
    CU_ASSERT_EQUAL(redact_text(&redacted, "token tell-nobody", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&redacted), "token ***");
    redact_done();
    sagemaker_request_done(&r);
}

UNIT_SUITE("job.sagemaker_request", UNIT(what_is_asked_is_typed), UNIT(no_file_asks_for_nothing),
           UNIT(secrets_are_redacted_even_if_the_rest_is_wrong))
