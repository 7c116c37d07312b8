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

static char *none[] = {NULL};

static void what_is_asked_is_typed(void) {
    struct sagemaker_request r;
    write_parameters("typed", "{\"lr\":\"0.1\",\"sagemaker_job_name\":\"\\\"job-1\\\"\","
                              "\"sagemaker_region\":\"eu-west-1\","
                              "\"sagemaker_container_log_level\":\"10\","
                              "\"sagemaker_mpi_num_of_processes_per_host\":\"3\"}");
    CU_ASSERT_EQUAL(sagemaker_request_read(base, none, &r, NULL), 0);
    CU_ASSERT_STRING_EQUAL(r.job_name, "job-1");
    CU_ASSERT_STRING_EQUAL(r.region, "eu-west-1");
    CU_ASSERT_STRING_EQUAL(r.log_level, "10");
    CU_ASSERT_PTR_NULL(r.program);
    CU_ASSERT_PTR_NULL(r.submit_directory);
    CU_ASSERT_EQUAL(r.mpi_options.slots, 3);
    CU_ASSERT_STRING_EQUAL(hyperparameters_get(&r.hyperparameters, "lr"), "0.1");
    sagemaker_request_done(&r);
    CU_ASSERT_PTR_NULL(r.job_name);
}

static void no_file_asks_for_nothing(void) {
    struct sagemaker_request r;
    CU_ASSERT_EQUAL(sagemaker_request_read("/nonexistent", none, &r, NULL), 0);
    CU_ASSERT_PTR_NULL(r.job_name);
    CU_ASSERT_EQUAL(r.hyperparameters.count, 0);
    CU_ASSERT_EQUAL(r.mpi_options.mpi, WISH_UNSAID);
    sagemaker_request_done(&r);
}

static void variables_stand_in_for_absent_hyperparameters(void) {
    static const struct {
        const char *parameters, *program, *submit;
    } cases[] = {
        {"{}", "a.sh", "/submit"},
        {"{\"sagemaker_program\":\"b.py\"}", "b.py", "/submit"},
        {"{\"sagemaker_program\":\"\"}", "", "/submit"},
        {"{\"sagemaker_program\":null}", "a.sh", "/submit"},
        {"{\"sagemaker_submit_directory\":\"s3://b/c.tar.gz\"}", "a.sh", "s3://b/c.tar.gz"},
    };
    char program[] = "SAGEMAKER_PROGRAM=a.sh";
    char submit[] = "SAGEMAKER_SUBMIT_DIRECTORY=/submit";
    char *with[] = {program, submit, NULL};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sagemaker_request r;
        const char *text = cases[i].parameters;
        CU_ASSERT_EQUAL(sagemaker_request_parse(text, strlen(text), "h", with, &r, NULL), 0);
        CU_ASSERT_STRING_EQUAL(r.program, cases[i].program);
        CU_ASSERT_STRING_EQUAL(r.submit_directory, cases[i].submit);
        sagemaker_request_done(&r);
    }
}

static void secrets_are_redacted_even_if_the_rest_is_wrong(void) {
    struct sagemaker_request r;
    struct error err = {0};
    write_parameters("secret",
                     "{\"api-token\":\"tell-nobody\",\"sagemaker_mpi_enabled\":\"maybe\"}");
    CU_ASSERT_EQUAL(sagemaker_request_read(base, none, &r, &err), -1);
    ASSERT_CONTAINS(err.text, "sagemaker_mpi_enabled");
    cleanup_buf struct buf redacted;
    buf_init(&redacted, 64);
    CU_ASSERT_EQUAL(redact_text(&redacted, "token tell-nobody", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&redacted), "token ***");
    redact_done();
    sagemaker_request_done(&r);
}

UNIT_SUITE("job.sagemaker_request", UNIT(what_is_asked_is_typed), UNIT(no_file_asks_for_nothing),
           UNIT(variables_stand_in_for_absent_hyperparameters),
           UNIT(secrets_are_redacted_even_if_the_rest_is_wrong))
