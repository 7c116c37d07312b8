#include "entrypoint/command/probe.h"

#include "entrypoint/os/run_as.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look(const char *path, struct job *job, struct probe *ret) {
    static char path_variable[512];
    static char hosts[] = "RINGMASTER_HOSTS=127.0.0.1:2";
    static char host[] = "RINGMASTER_HOST=127.0.0.1";
    static char base[] = "SAGEMAKER_BASE_DIR=/no/such/base";
    static const char *const words[] = {"--", "/bin/true", NULL};
    struct error err = {0};
    (void)snprintf(path_variable, sizeof(path_variable), "PATH=%s", path);
    char *const environment[] = {path_variable, hosts, host, base, NULL};
    CU_ASSERT_EQUAL_FATAL(job_read(words, environment, job, &err), 0);
    probe_run(job, environment, ret);
}

static void without_mpirun_the_picture_is_incomplete(void) {
    struct job job;
    struct probe probe;
    look("/no/such/folder", &job, &probe);
    CU_ASSERT_FALSE(probe.complete);
    probe_done(&probe);
    job_done(&job);
}

static void with_mpirun_the_request_is_complete(void) {
    struct job job;
    struct probe probe;
    struct argv command = {0};
    struct error err = {0};
    look("/usr/local/bin:/usr/bin:/bin", &job, &probe);
    if (probe.complete) {
        CU_ASSERT_EQUAL(openmpi_command(&probe.request, &command, &err), 0);
        ASSERT_CONTAINS(command.items[0], "mpirun");
        CU_ASSERT_STRING_EQUAL(command.items[command.count - 1], "rank");
    } else {
        unit_skip("no mpirun here");
    }
    argv_done(&command);
    probe_done(&probe);
    job_done(&job);
}

static void ranks_that_need_no_mpirun_do_not_ask_for_it(void) {
    struct job job = {.launcher = {.kind = LAUNCHER_DIRECT}};
    struct probe probe;
    char *const environment[] = {NULL};
    probe_run(&job, environment, &probe);
    CU_ASSERT(probe.complete);
    CU_ASSERT_PTR_NULL(probe.mpi_install.mpirun);
    probe_done(&probe);
    job_done(&job);
}

/* Checks the settings as `ringmaster plan` would with these VARIABLES; returns 0 or the error's
 * exit code. */
static int check(const char *const *variables, struct job *job, struct error *err) {
    static const char *const words[] = {"--", "/bin/true", NULL};
    char base[] = "SAGEMAKER_BASE_DIR=/no/such/base";
    char *environment[8] = {base};
    for (size_t i = 0; variables[i] != NULL; i++)
        environment[i + 1] = strdup(variables[i]);
    CU_ASSERT_EQUAL_FATAL(job_read(words, environment, job, err), 0);
    int code = probe_settings(job, environment, err) == 0 ? 0 : (int)err->code;
    for (size_t i = 1; environment[i] != NULL; i++)
        free(environment[i]);
    (void)run_as_choose(NULL, NULL);
    return code;
}

#define TWO_HOSTS "RINGMASTER_HOSTS=127.0.0.1:2,127.0.0.2:2", "RINGMASTER_HOST=127.0.0.1"

static void a_setting_that_would_end_the_job_is_an_error(void) {
    static const struct {
        const char *variables[4], *says;
    } bad[] = {
        {{TWO_HOSTS, "RINGMASTER_KEY=short"}, "RINGMASTER_KEY"},
        {{TWO_HOSTS, "RINGMASTER_KEY_FILE=/no/such/file"}, "/no/such"},
        {{TWO_HOSTS, "RINGMASTER_USER=no-such-user-here"}, "RINGMASTER_USER: there is no user"},
        {{"RINGMASTER_USER=no-such-user-here"}, "RINGMASTER_USER: there is no user"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct job job;
        struct error err = {0};
        CU_ASSERT_EQUAL(check(bad[i].variables, &job, &err), EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, bad[i].says);
        job_done(&job);
    }
}

static void what_ends_no_job_is_a_warning(void) {
    const char *const alone[] = {"RINGMASTER_KEY=short", NULL};
    const char *const well[] = {TWO_HOSTS, "RINGMASTER_KEY=0123456789abcdef", NULL};
    struct job job;
    struct error err = {0};
    CU_ASSERT_EQUAL(check(alone, &job, &err), 0);
    CU_ASSERT_EQUAL_FATAL(job.warnings.count, 1);
    ASSERT_CONTAINS(job.warnings.text[0], "RINGMASTER_KEY");
    job_done(&job);
    CU_ASSERT_EQUAL(check(well, &job, &err), 0);
    CU_ASSERT_EQUAL(job.warnings.count, 0);
    job_done(&job);
}

static void an_interface_that_is_not_here_is_a_warning(void) {
    static const char *const words[] = {"--", "/bin/true", NULL};
    char hosts[] = "RINGMASTER_HOSTS=127.0.0.1:2,127.0.0.2:2", host[] = "RINGMASTER_HOST=127.0.0.1",
         base[] = "SAGEMAKER_BASE_DIR=/no/such/base", interface[] = "RINGMASTER_INTERFACE=nosuch9",
         path[] = "PATH=/no/such/folder";
    char *const environment[] = {hosts, host, base, interface, path, NULL};
    struct job job;
    struct probe probe;
    CU_ASSERT_EQUAL_FATAL(job_read(words, environment, &job, NULL), 0);
    probe_run(&job, environment, &probe);
    CU_ASSERT_EQUAL_FATAL(job.warnings.count, 1);
    ASSERT_CONTAINS(job.warnings.text[0], "nosuch9 is not there");
    probe_done(&probe);
    job_done(&job);
}

UNIT_SUITE("entrypoint.probe", UNIT(without_mpirun_the_picture_is_incomplete),
           UNIT(with_mpirun_the_request_is_complete),
           UNIT(ranks_that_need_no_mpirun_do_not_ask_for_it),
           UNIT(a_setting_that_would_end_the_job_is_an_error), UNIT(what_ends_no_job_is_a_warning),
           UNIT(an_interface_that_is_not_here_is_a_warning))
