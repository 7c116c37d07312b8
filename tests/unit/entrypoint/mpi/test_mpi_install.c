#include "entrypoint/mpi/mpi_install.h"

#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct loop loop;
static struct reaper reaper;
static struct mpi_install mpi_install;
static struct error failure;
static int calls;

static void done(void *context, const struct error *why) {
    (void)context;
    calls++;
    failure = (struct error){0};
    if (why != NULL)
        failure = *why;
    loop_end(&loop);
}

static const char *folder_with(const char *name, const char *script) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(script, file);
    (void)fclose(file);
    CU_ASSERT_EQUAL(chmod(path, 0755), 0);
    return unit_temp_dir();
}

static int find(const char *path, struct error *err) {
    struct argv environment = {0};
    reaping_open(&loop, &reaper);
    CU_ASSERT_EQUAL(argv_add(&environment, "PATH=/usr/bin:/bin", err), 0);
    int result =
        mpi_install_find(&mpi_install, &loop, &reaper, path, &environment, done, NULL, err);
    if (result == 0)
        CU_ASSERT_EQUAL(loop_run(&loop, err), 0);
    argv_done(&environment);
    return result;
}

static void close_all(void) {
    mpi_install_done(&mpi_install);
    loop_done(&loop);
}

static void version_and_daemon_are_found(void) {
    struct error err;
    (void)folder_with("orted", "#!/bin/sh\n");
    const char *path = folder_with("mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n");
    CU_ASSERT_EQUAL_FATAL(find(path, &err), 0);
    CU_ASSERT_EQUAL(failure.code, 0);
    CU_ASSERT_EQUAL(mpi_install.version.series, OPENMPI_4_1);
    CU_ASSERT_EQUAL(mpi_install.version.release, 4);
    ASSERT_CONTAINS(mpi_install.daemon, "/orted");
    close_all();
}

static void what_is_wrong_with_mpirun_is_reported(void) {
    struct error err;
    CU_ASSERT_EQUAL(find("/no/such/folder", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
    close_all();
    const char *path = folder_with("mpirun", "#!/bin/sh\necho broken >&2; exit 3\n");
    CU_ASSERT_EQUAL_FATAL(find(path, &err), 0);
    ASSERT_CONTAINS(failure.text, "failed with code 3: broken");
    close_all();
    path = folder_with("mpirun", "#!/bin/sh\necho 'HYDRA build details: 4.0'\n");
    CU_ASSERT_EQUAL_FATAL(find(path, &err), 0);
    CU_ASSERT_EQUAL(failure.code, EXIT_CODE_CONFIG);
    close_all();
}

UNIT_SUITE("mpi.mpi_install", UNIT(version_and_daemon_are_found),
           UNIT(what_is_wrong_with_mpirun_is_reported))
