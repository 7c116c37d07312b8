#include "entrypoint/command/job_run.h"

#include "tests/support/unit.h"

/* Refused before the log, the signals or the job's files are touched; whole jobs run in
 * tests/unit/entrypoint/test_main.c and tests/system. */
static void wrong_words_begin_no_job(void) {
    const char *const both[] = {"--mpi", "--nccl", NULL}, *const none[] = {NULL};
    struct error err = {0};
    CU_ASSERT_EQUAL(job_run_check(both, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--mpi and --nccl are two checks");
    CU_ASSERT_EQUAL(job_run_trials(none, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(job_run_scaling(none, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("entrypoint.job_run", UNIT(wrong_words_begin_no_job))
