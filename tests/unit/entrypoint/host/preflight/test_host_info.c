#include "entrypoint/host/preflight/host_info.h"

#include "entrypoint/job/job.h"
#include "entrypoint/mpi/mpi_install.h"
#include "tests/support/addresses.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void read_job(const char *hosts, const char *program, struct job *ret) {
    char pair[256];
    char host[] = "RINGMASTER_HOST=a";
    char base[] = "SAGEMAKER_BASE_DIR=/no/such/base";
    const char *const words[] = {"--", program, "x", NULL};
    (void)snprintf(pair, sizeof(pair), "RINGMASTER_HOSTS=%s", hosts);
    char *const environment[] = {pair, host, base, NULL};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(job_read(words, environment, ret, &err), 0);
}

static void gather(const char *hosts, const char *program, struct host_info *ret) {
    struct job job;
    char daemon[] = "/usr/bin/orted";
    struct mpi_install mpi_install = {.daemon = daemon, .version = {OPENMPI_4_1, 4, 1, 4}};
    read_job(hosts, program, &job);
    job.cluster.hosts[job.cluster.self].address = address_of("10.0.0.7");
    host_info_gather(&job, &mpi_install, ret);
    job_done(&job);
}

static void facts_survive_the_way_to_the_master(void) {
    struct host_info sent;
    struct host_info got;
    struct error err = {0};
    gather("a,b:2", "/bin/true", &sent);
    CU_ASSERT(sent.cpus >= 1);
    CU_ASSERT(sent.memory_mib > 16);
    CU_ASSERT(sent.files > 2);
    CU_ASSERT_STRING_EQUAL(sent.openmpi, "4.1.4");
    CU_ASSERT_EQUAL(strlen(sent.build), 40);
    sent.device = true;
    sent.ucx = true;
    sent.dead_seconds = 5;
    json_t *object = host_info_json(&sent);
    CU_ASSERT_EQUAL(host_info_parse(object, &got, &err), 0);
    CU_ASSERT_EQUAL(got.job, sent.job);
    CU_ASSERT_EQUAL(got.program, sent.program);
    CU_ASSERT_TRUE(got.device && got.ucx);
    ASSERT_ADDRESS(&got.address, "10.0.0.7");
    CU_ASSERT_STRING_EQUAL(got.build, sent.build);
    CU_ASSERT_EQUAL(got.dead_seconds, 5);
    CU_ASSERT_EQUAL(got.shm_mib, sent.shm_mib);
    CU_ASSERT_EQUAL(got.clock, sent.clock);
    CU_ASSERT_EQUAL(got.boot, sent.boot);
    CU_ASSERT_EQUAL(host_info_compare(&sent, &got, &err), 0);
    CU_ASSERT_EQUAL(json_object_del(object, "version"), 0);
    CU_ASSERT_EQUAL(host_info_parse(object, &got, &err), -1);
    ASSERT_CONTAINS(err.text, "version");
    (void)json_object_set_new(object, "version", json_string("0"));
    (void)json_object_set_new(object, "interface_address", json_string("fe80::1"));
    CU_ASSERT_EQUAL(host_info_parse(object, &got, &err), -1);
    ASSERT_CONTAINS(err.text, "fe80::1");
    json_decref(object);
}

/* A host whose version has no build IDs yet sends none, and may take part. */
static void a_build_that_is_not_known_is_not_refused(void) {
    static const char *const odd[] = {"x", "A0", "0123456789012345678901234567890123456789a",
                                      "0\n"};
    struct host_info ours;
    struct host_info theirs;
    struct error err = {0};
    gather("a,b:2", "/bin/true", &ours);
    json_t *object = host_info_json(&ours);
    CU_ASSERT_EQUAL(json_object_del(object, "build"), 0);
    CU_ASSERT_EQUAL(host_info_parse(object, &theirs, &err), 0);
    CU_ASSERT_STRING_EQUAL(theirs.build, "");
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), 0);
    CU_ASSERT_EQUAL(host_info_compare(&theirs, &ours, &err), 0);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        (void)json_object_set_new(object, "build", json_string(odd[i]));
        CU_ASSERT_EQUAL(host_info_parse(object, &theirs, &err), -1);
        ASSERT_CONTAINS(err.text, "expected up to");
    }
    json_decref(object);
}

static void what_differs_is_named(void) {
    struct host_info ours;
    struct host_info theirs;
    struct error err = {0};
    gather("a,b:2", "/bin/true", &ours);
    gather("a,b:3", "/bin/true", &theirs);
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "slots");
    theirs = ours;
    theirs.openmpi[0] = '5';
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), -1);
    ASSERT_CONTAINS(err.text, "Open MPI 5.1.4");
    theirs = ours;
    theirs.version[0] = '9';
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), -1);
    ASSERT_CONTAINS(err.text, "another image");
    theirs = ours;
    (void)snprintf(theirs.build, sizeof(theirs.build), "%s", "00112233445566778899");
    (void)snprintf(ours.build, sizeof(ours.build), "%s", "ffeeddccbbaa99887766");
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "it runs build 001122334455 of ringmaster, the master build "
                              "ffeeddccbbaa: another image");
    gather("a,b:2", "/bin/true", &ours);
    gather("a,b:2", "/bin/false", &theirs);
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), -1);
    ASSERT_CONTAINS(err.text, "its program or its arguments");
    theirs = ours;
    theirs.failover = true;
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_FAILOVER is set there, and not on the master");
    CU_ASSERT_EQUAL(host_info_compare(&theirs, &ours, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_FAILOVER is set on the master, and not there");
    theirs = ours;
    theirs.dead_seconds = 5;
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_DEAD_SECONDS is 5 there, and 10 on the master");
    gather("a,b:2", "/usr/bin/true", &theirs); /* the program's path may differ between hosts */
    CU_ASSERT_EQUAL(host_info_compare(&ours, &theirs, &err), 0);
}

UNIT_SUITE("host.host_info", UNIT(facts_survive_the_way_to_the_master),
           UNIT(a_build_that_is_not_known_is_not_refused), UNIT(what_differs_is_named))
