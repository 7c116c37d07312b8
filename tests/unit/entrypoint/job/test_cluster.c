#include "common/file.h"
#include "job/cluster.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static char base[4096];

static struct settings settings_with(const char *hosts) {
    snprintf(base, sizeof(base), "%s/ml", unit_temp_dir());
    return (struct settings){.base_dir = base, .hosts = hosts};
}

static void write_config(const char *text) {
    char path[4200];
    snprintf(path, sizeof(path), "%s/input/config", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/input/config/resourceconfig.json", base);
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
}

static void no_description_is_one_host(void) {
    struct settings s = settings_with(NULL);
    struct cluster c;
    CU_ASSERT_EQUAL(cluster_read(&s, NULL, &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_ALONE);
    CU_ASSERT_EQUAL(c.count, 1);
    CU_ASSERT(cluster_is_master(&c));
    CU_ASSERT_STRING_EQUAL(c.job, "ringmaster");
    cluster_fill_slots(&c, 4);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 4);
    cluster_done(&c);
}

static void variables_win_over_the_file_and_the_file_over_nothing(void) {
    struct settings s = settings_with(NULL);
    write_config("{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\"],"
                 "\"network_interface_name\":\"eth7\"}");
    struct cluster c;
    CU_ASSERT_EQUAL(cluster_read(&s, "job-7", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_SAGEMAKER);
    CU_ASSERT_EQUAL(c.self, 1);
    CU_ASSERT_STRING_EQUAL(c.job, "job-7");
    CU_ASSERT_STRING_EQUAL(c.interface, "eth7");
    cluster_done(&c);

    s.hosts = "n1:2,n2";
    s.host = "n2";
    s.job = "other";
    s.interface = "eth1";
    CU_ASSERT_EQUAL(cluster_read(&s, "job-7", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_ENVIRONMENT);
    CU_ASSERT_STRING_EQUAL(c.job, "other");
    CU_ASSERT_STRING_EQUAL(c.interface, "eth1");
    CU_ASSERT_PTR_NULL(c.resource_config);
    cluster_fill_slots(&c, 3);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 5);
    CU_ASSERT_EQUAL(cluster_most_slots(&c), 3);
    cluster_done(&c);
}

static void wrong_descriptions_are_errors(void) {
    struct cluster c;
    struct error err = {0};
    struct settings s = settings_with(NULL);
    s.host = "n1";
    CU_ASSERT_EQUAL(cluster_read(&s, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_HOST ");

    s = settings_with("n1,n2");
    s.host = "n3";
    CU_ASSERT_EQUAL(cluster_read(&s, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "\"n3\"");
    CU_ASSERT_PTR_NULL(c.hosts);

    s.host = "n1";
    s.interface = "eth0;x";
    CU_ASSERT_EQUAL(cluster_read(&s, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_INTERFACE");
    s.interface = NULL;
    CU_ASSERT_EQUAL(cluster_read(&s, "a b", &c, &err), -1);
    ASSERT_CONTAINS(err.text, "\"a b\"");
    CU_ASSERT_EQUAL(cluster_read(&s, "", &c, &err), -1);
}

static void hosts_come_into_natural_order_on_every_host(void) {
    struct cluster c = {0};
    struct host_name name;
    static const char *const names[] = {"algo-10", "algo-1", "algo-2"};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(host_name_parse(names[i], strlen(names[i]), &name, NULL), 0);
        CU_ASSERT_EQUAL(cluster_add(&c, &name, 0, NULL), 0);
    }
    CU_ASSERT_EQUAL(cluster_finish(&c, &name, NULL), 0);
    CU_ASSERT_STRING_EQUAL(c.hosts[0].name.text, "algo-1");
    CU_ASSERT_STRING_EQUAL(c.hosts[1].name.text, "algo-2");
    CU_ASSERT_STRING_EQUAL(c.hosts[2].name.text, "algo-10");
    CU_ASSERT_EQUAL(c.self, 1);
    cluster_done(&c);
}

static void twins_and_a_thousand_and_more_are_refused(void) {
    struct cluster c = {0};
    struct host_name name;
    struct error err = {0};
    for (int i = 0; i < CLUSTER_HOSTS_MAX; i++) {
        snprintf(name.text, sizeof(name.text), "algo-%d", i + 1);
        CU_ASSERT_EQUAL(cluster_add(&c, &name, 1, NULL), 0);
    }
    CU_ASSERT_EQUAL(cluster_ranks(&c), 1024);
    snprintf(name.text, sizeof(name.text), "algo-1025");
    CU_ASSERT_EQUAL(cluster_add(&c, &name, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "1024");
    cluster_done(&c);
    snprintf(name.text, sizeof(name.text), "algo-1");
    CU_ASSERT_EQUAL(cluster_add(&c, &name, 1, NULL), 0);
    snprintf(name.text, sizeof(name.text), "ALGO-1");
    CU_ASSERT_EQUAL(cluster_add(&c, &name, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "twice");
    cluster_done(&c);
}

static void without_a_host_its_ranks_move_up(void) {
    struct cluster_host hosts[] = {
        {.name = {"a"}, .slots = 2}, {.name = {"b"}, .slots = 3}, {.name = {"c"}, .slots = 1}};
    struct cluster c = {.hosts = hosts, .count = 3};
    static const size_t before[] = {0, 0, 1, 1, 1, 2};
    static const size_t after[] = {0, 0, 2};
    for (size_t i = 0; i < 6; i++)
        CU_ASSERT_EQUAL(cluster_host_of_rank(&c, i), before[i]);
    cluster_drop(&c, 1);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 3);
    CU_ASSERT_EQUAL(cluster_hosts_left(&c), 2);
    CU_ASSERT_EQUAL(c.count, 3);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(cluster_host_of_rank(&c, i), after[i]);
}

static void a_jobs_name_has_at_most_255_bytes(void) {
    static char name[CLUSTER_JOB_SIZE + 100];
    struct settings s = settings_with("a,b");
    struct cluster c;
    struct error err = {0};
    s.host = "a";
    for (size_t size = CLUSTER_JOB_SIZE - 2; size <= CLUSTER_JOB_SIZE + 44; size++) {
        memset(name, 'j', size);
        name[size] = '\0';
        int read = cluster_read(&s, name, &c, &err);
        CU_ASSERT_EQUAL(read, size < CLUSTER_JOB_SIZE ? 0 : -1);
        CU_ASSERT_STRING_EQUAL(c.job, read == 0 ? name : "");
        ASSERT_CONTAINS(err.text, read == 0 ? "" : "is not 1 to 255 letters");
        cluster_done(&c);
    }
}

UNIT_MAIN("job.cluster", UNIT(a_jobs_name_has_at_most_255_bytes), UNIT(no_description_is_one_host),
          UNIT(variables_win_over_the_file_and_the_file_over_nothing),
          UNIT(wrong_descriptions_are_errors), UNIT(hosts_come_into_natural_order_on_every_host),
          UNIT(twins_and_a_thousand_and_more_are_refused), UNIT(without_a_host_its_ranks_move_up))
