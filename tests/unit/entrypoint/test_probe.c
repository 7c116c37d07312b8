#include "entrypoint/probe.h"

#include "tests/support/unit.h"

#include <stdio.h>
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

UNIT_SUITE("entrypoint.probe", UNIT(without_mpirun_the_picture_is_incomplete),
           UNIT(with_mpirun_the_request_is_complete))
