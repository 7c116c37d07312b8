#include "entrypoint/master/preflight/check_rows.h"

#include "common/json/json.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* A host with nothing wrong, one a line of what tests change. */
static json_t *host_called(const char *name) {
    json_t *host = json_loads(
        "{\"slots\":2,\"joined\":true,\"clock_offset\":1000,"
        "\"facts\":{\"version\":\"0.1.0\",\"build\":\"0123456789abcdef\",\"openmpi\":\"4.1.4\","
        "\"job\":\"1\",\"program\":\"2\","
        "\"dead_seconds\":10,\"cpus\":4,\"memory_mib\":16000,\"shm_mib\":8000,\"files\":65536},"
        "\"means\":{\"kernel\":\"6.1\",\"processor\":\"P\",\"interface\":\"eth0\",\"gpu\":\"\","
        "\"driver\":\"\",\"gpus\":0,\"rdma\":false,\"efa\":false,\"read_memory\":\"\","
        "\"memlock_kib\":64,\"pids\":-1,\"shm_free_mib\":7000,\"disk_free_mib\":50000,"
        "\"mtu\":1500}}",
        0, NULL);
    (void)json_object_set_new(host, "name", json_string(name));
    (void)json_object_set_new(json_object_get(host, "means"), "kernel_name", json_string(name));
    return host;
}

/* The row of ITEM that HOST is in; NULL where there is none. */
static const json_t *row_of(const json_t *rows, const char *item, const char *host) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *hosts = json_object_get(row, "hosts");
        if (strcmp(check_text(row, NULL, "item"), item) != 0)
            continue;
        for (size_t k = 0; k < json_array_size(hosts); k++)
            if (strcmp(json_string_value(json_array_get(hosts, k)), host) == 0)
                return row;
    }
    return NULL;
}

static json_t *rows_for(const json_t *hosts) {
    json_t *rows = json_array();
    check_add_hosts(hosts, rows);
    return rows;
}

static size_t count_of(const json_t *rows, const char *status) {
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        count += strcmp(check_text(json_array_get(rows, i), NULL, "status"), status) == 0;
    return count;
}

static void hosts_that_are_alike_share_a_row(void) {
    cleanup_json json_t *hosts = json_pack("[o, o]", host_called("a"), host_called("b"));
    cleanup_json json_t *rows = rows_for(hosts);
    CU_ASSERT_EQUAL(json_array_size(rows), 16);
    CU_ASSERT_EQUAL(count_of(rows, "ok"), 16);
    for (size_t i = 0; i < json_array_size(rows); i++)
        CU_ASSERT_EQUAL(json_array_size(json_object_get(json_array_get(rows, i), "hosts")), 2);
    CU_ASSERT_STRING_EQUAL(check_text(row_of(rows, "build", "b"), NULL, "value"),
                           "ringmaster 0.1.0 build 0123456789ab, Open MPI 4.1.4");
}

/* Each change of the second host, the row that tells of it, and how. */
static const struct changed {
    const char *part, *key, *value;
    const char *item, *status, *says;
    int code;
} changes[] = {
    {"facts", "version", "\"0.2.0\"", "build", "bad", "another image", 65},
    {"facts", "build", "\"fedcba9876543210\"", "build", "bad",
     "another image than the master's, build 0123456789ab", 65},
    {"facts", "build", "\"\"", "build", "ok", "", 0},
    {"facts", "openmpi", "\"5.0.7\"", "build", "bad", "another image", 65},
    {"facts", "openmpi", "\"\"", "build", "bad", "another image", 65},
    {"facts", "job", "\"9\"", "job", "bad", "the same variables", 65},
    {"facts", "program", "\"9\"", "job", "bad", "the same variables", 65},
    {"facts", "dead_seconds", "5", "job", "bad", "the same variables", 65},
    {"facts", "cpus", "1", "cores", "warning", "share cores", 0},
    {"means", "processor", "\"Q\"", "cores", "warning", "slowest", 0},
    {"facts", "shm_mib", "63", "shared", "warning", "64 are recommended", 0},
    {"means", "shm_free_mib", "9", "shared", "warning", "its ranks share 10", 0},
    {"facts", "files", "1023", "files", "warning", "1024 are recommended", 0},
    {"means", "rdma", "true", "locked", "warning", "memlock", 0},
    {"means", "rdma", "true", "adapter", "warning", "differs from the master", 0},
    {"means", "efa", "true", "adapter", "warning", "differs from the master", 0},
    {"means", "pids", "319", "processes", "warning", "320 are recommended", 0},
    {"means", "disk_free_mib", "1023", "disk", "warning", "not enough", 0},
    {"means", "disk_free_mib", "-1", "disk", "warning", "model, checkpoints and failure file", 0},
    {"means", "gpus", "1", "gpu", "warning", "2 ranks share them", 0},
    {"means", "gpus", "2", "gpu", "warning", "differs from the master", 0},
    {"means", "driver", "\"1\"", "gpu", "warning", "differs from the master", 0},
    {"means", "mtu", "9001", "interface", "warning", "differs from the master", 0},
    {"means", "read_memory", "\"no\"", "copies", "ok", "", 0},
    {NULL, "clock_offset", "-2000000000", "clock", "warning", "cannot be compared", 0},
    {NULL, "fault", "\"it is broken\"", "host", "bad", "", 65},
};

static void what_differs_or_lacks_is_reported(void) {
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const struct changed *c = &changes[i];
        json_t *second = host_called("b");
        json_t *part = c->part != NULL ? json_object_get(second, c->part) : second;
        (void)json_object_set_new(part, c->key, json_loads(c->value, JSON_DECODE_ANY, NULL));
        cleanup_json json_t *hosts = json_pack("[o, o]", host_called("a"), second);
        cleanup_json json_t *rows = rows_for(hosts);
        const json_t *row = row_of(rows, c->item, "b");
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "status"), c->status);
        ASSERT_CONTAINS(check_text(row, NULL, "advice"), c->says);
        CU_ASSERT_EQUAL(check_number(row, NULL, "code"), c->code);
        CU_ASSERT_PTR_NOT_EQUAL(row, row_of(rows, c->item, "a"));
        CU_ASSERT_STRING_EQUAL(check_text(row_of(rows, c->item, "a"), NULL, "status"), "ok");
    }
}

static void limits_that_are_met_are_fine(void) {
    static const char *const met[][3] = {{"facts", "files", "1024"},
                                         {"means", "pids", "320"},
                                         {"means", "shm_free_mib", "10"},
                                         {"facts", "shm_mib", "64"},
                                         {"means", "disk_free_mib", "1024"}};
    json_t *host = host_called("a");
    for (size_t i = 0; i < sizeof(met) / sizeof(met[0]); i++)
        (void)json_object_set_new(json_object_get(host, met[i][0]), met[i][1],
                                  json_loads(met[i][2], JSON_DECODE_ANY, NULL));
    cleanup_json json_t *hosts = json_pack("[o]", host);
    cleanup_json json_t *rows = rows_for(hosts);
    CU_ASSERT_EQUAL(count_of(rows, "ok"), json_array_size(rows));
}

static void kernels_of_one_name_are_reported(void) {
    for (int series = 4; series <= 5; series++) {
        json_t *pair[2] = {host_called("a"), host_called("b")};
        for (size_t i = 0; i < 2; i++) {
            (void)json_object_set_new(json_object_get(pair[i], "means"), "kernel_name",
                                      json_string("same"));
            (void)json_object_set_new(json_object_get(pair[i], "facts"), "openmpi",
                                      json_string(series == 5 ? "5.0.7" : "4.1.4"));
        }
        cleanup_json json_t *hosts = json_pack("[o, o]", pair[0], pair[1]);
        cleanup_json json_t *rows = rows_for(hosts);
        const json_t *row = row_of(rows, "names", "b");
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "status"), series == 5 ? "warning" : "ok");
        ASSERT_CONTAINS(check_text(row, NULL, "value"), "called same");
    }
}

static void kernels_of_other_names_than_their_hosts_are_reported(void) {
    char name[32];
    cleanup_json json_t *hosts = json_pack("[o]", host_called("a"));
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "b-%d", i);
        json_t *host = host_called(name);
        (void)snprintf(name, sizeof(name), "ip-10-0-0-%d", i);
        (void)json_object_set_new(json_object_get(host, "means"), "kernel_name", json_string(name));
        (void)json_array_append_new(hosts, host);
    }
    cleanup_json json_t *rows = rows_for(hosts);
    CU_ASSERT_PTR_NULL(row_of(rows, "names", "a"));
    for (int i = 0; i < 40; i++) {
        char told[64];
        (void)snprintf(name, sizeof(name), "b-%d", i);
        (void)snprintf(told, sizeof(told), "b-%d's kernel is called ip-10-0-0-%d", i, i);
        const json_t *row = row_of(rows, "names", name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "status"), "ok");
        ASSERT_CONTAINS(check_text(row, NULL, "value"), told);
    }
    CU_ASSERT(count_of(rows, "ok") < 16 + 10); /* several in a row */
}

static void a_kernel_name_that_mpirun_dies_of_is_bad(void) {
    static const char long_name[] = "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbccccccccccccccccccccx";
    for (int master = 0; master <= 1; master++) {
        json_t *pair[2] = {host_called("a"), host_called("b")};
        (void)json_object_set_new(json_object_get(pair[!master], "means"), "kernel_name",
                                  json_string(long_name));
        (void)json_object_set_new(json_object_get(pair[0], "facts"), "openmpi",
                                  json_string("4.1.4"));
        cleanup_json json_t *hosts = json_pack("[o, o]", pair[0], pair[1]);
        cleanup_json json_t *rows = rows_for(hosts);
        CU_ASSERT_EQUAL(count_of(rows, "bad"), (size_t)master);
        const json_t *row = master != 0 ? row_of(rows, "names", "a") : NULL;
        if (master != 0)
            CU_ASSERT_PTR_NOT_NULL(row);
    }
}

static void gpus_of_several_models_are_reported(void) {
    json_t *host = host_called("a");
    (void)json_object_set_new(json_object_get(host, "means"), "gpus", json_integer(2));
    (void)json_object_set_new(json_object_get(host, "means"), "gpu", json_string("A, B"));
    cleanup_json json_t *hosts = json_pack("[o]", host);
    cleanup_json json_t *rows = rows_for(hosts);
    const json_t *row = row_of(rows, "gpu", "a");
    CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "status"), "warning");
    ASSERT_CONTAINS(check_text(row, NULL, "value"), "2 GPUs, A, B");
    ASSERT_CONTAINS(check_text(row, NULL, "advice"), "its GPUs differ");
}

/* What hosts send may be anything. */
static void what_is_not_as_it_should_be_does_no_harm(void) {
    static const char *const odd[] = {
        "{}",
        "{\"name\":7,\"slots\":\"x\",\"facts\":[],\"means\":\"\"}",
        "{\"name\":\"b\",\"facts\":{},\"means\":{},\"warnings\":[1,null,\"w\"],\"fault\":{}}",
        "{\"name\":\"b\",\"facts\":{\"version\":[],\"cpus\":1e99},\"means\":{\"gpus\":\"1\"},"
        "\"warnings\":{\"a\":1},\"clock_offset\":\"late\"}",
        "[]",
        "null"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        cleanup_json json_t *hosts =
            json_pack("[o, o]", host_called("a"), json_loads(odd[i], JSON_DECODE_ANY, NULL));
        cleanup_json json_t *rows = rows_for(hosts);
        CU_ASSERT_PTR_NOT_NULL(row_of(rows, "host", "a"));
        /* And as the master, too. */
        cleanup_json json_t *turned =
            json_pack("[o, o]", json_loads(odd[i], JSON_DECODE_ANY, NULL), host_called("a"));
        cleanup_json json_t *other = rows_for(turned);
        CU_ASSERT_PTR_NOT_NULL(row_of(other, "host", "a"));
    }
}

/* A character that a row has no whole room for, and bytes that are none: the row is there, and bad.
 */
static void no_text_loses_a_row(void) {
    json_t *host = host_called("a");
    (void)json_object_set_new(host, "fault", json_sprintf("%0239d\xc3\xbc", 0));
    cleanup_json json_t *hosts = json_pack("[o]", host);
    cleanup_json json_t *rows = rows_for(hosts);
    const json_t *row = row_of(rows, "host", "a");
    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "status"), "bad");
    CU_ASSERT_EQUAL(strlen(check_text(row, NULL, "value")), 239);

    cleanup_json json_t *odd = json_array();
    check_add(odd, CHECK_BAD, "host", "\xff", json_pack("[s]", "a"), "no \xc3", EXIT_CODE_DATA);
    CU_ASSERT_EQUAL_FATAL(json_array_size(odd), 1);
    row = json_array_get(odd, 0);
    CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "value"), "\xef\xbf\xbd");
    CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "advice"), "no \xef\xbf\xbd");
    CU_ASSERT_EQUAL(check_number(row, NULL, "code"), EXIT_CODE_DATA);
}

/* If the master or a host has a fault, only rows of that host show a difference. */
static void a_fault_of_one_is_not_blamed_on_others(void) {
    for (size_t broken = 0; broken < 2; broken++) {
        json_t *pair[2] = {host_called("a"), host_called("b")};
        json_t *facts = json_object_get(pair[broken], "facts");
        (void)json_object_set_new(pair[broken], "fault", json_string("no such program"));
        (void)json_object_set_new(facts, "openmpi", json_string(""));
        (void)json_object_set_new(facts, "program", json_string(""));
        cleanup_json json_t *hosts = json_pack("[o, o]", pair[0], pair[1]);
        cleanup_json json_t *rows = rows_for(hosts);
        CU_ASSERT_EQUAL(count_of(rows, "bad"), 1);
        CU_ASSERT_STRING_EQUAL(
            check_text(row_of(rows, "host", broken == 0 ? "a" : "b"), NULL, "status"), "bad");
        CU_ASSERT_PTR_NULL(row_of(rows, "build", "b"));
        CU_ASSERT_PTR_NULL(row_of(rows, "job", "b"));
        CU_ASSERT_EQUAL(row_of(rows, "job", "a") != NULL, broken == 1);
    }
}

UNIT_SUITE("master.check_rows", UNIT(no_text_loses_a_row),
           UNIT(a_fault_of_one_is_not_blamed_on_others), UNIT(hosts_that_are_alike_share_a_row),
           UNIT(what_differs_or_lacks_is_reported), UNIT(limits_that_are_met_are_fine),
           UNIT(kernels_of_one_name_are_reported),
           UNIT(kernels_of_other_names_than_their_hosts_are_reported),
           UNIT(a_kernel_name_that_mpirun_dies_of_is_bad),
           UNIT(gpus_of_several_models_are_reported),
           UNIT(what_is_not_as_it_should_be_does_no_harm))
