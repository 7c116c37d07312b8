#include "entrypoint/job/cluster/cluster.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void add(struct platform_description *d, const char *name, unsigned slots) {
    struct host_name parsed;
    CU_ASSERT_EQUAL(host_name_parse(name, strlen(name), &parsed, NULL), 0);
    CU_ASSERT_EQUAL(platform_description_add(d, &parsed, slots, NULL), 0);
    d->self = parsed;
    d->hosts_key = "LIST";
    d->self_key = "SELF";
}

static void hosts_come_into_natural_order_on_every_host(void) {
    struct platform_description d = {.source = CLUSTER_SAGEMAKER, .grace = 10, .before = 2};
    struct cluster c;
    add(&d, "algo-10", 0);
    add(&d, "algo-1", 3);
    add(&d, "algo-2", 0);
    (void)snprintf(d.interface, sizeof(d.interface), "eth7");
    (void)snprintf(d.group, sizeof(d.group), "g");
    CU_ASSERT_EQUAL(cluster_make(&d, "job-7", &c, NULL), 0);
    platform_description_done(&d);
    CU_ASSERT_STRING_EQUAL(c.hosts[0].name.text, "algo-1");
    CU_ASSERT_STRING_EQUAL(c.hosts[1].name.text, "algo-2");
    CU_ASSERT_STRING_EQUAL(c.hosts[2].name.text, "algo-10");
    CU_ASSERT_EQUAL(c.self, 1);
    CU_ASSERT(c.grace == 10 && c.before == 2 && c.source == CLUSTER_SAGEMAKER);
    CU_ASSERT_STRING_EQUAL(c.interface, "eth7");
    CU_ASSERT_STRING_EQUAL(c.group, "g");
    CU_ASSERT_STRING_EQUAL(c.job, "job-7");
    cluster_fill_slots(&c, 2);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 7);
    CU_ASSERT_EQUAL(cluster_most_slots(&c), 3);
    cluster_done(&c);
}

static void what_contradicts_itself_is_an_error_that_names_the_key(void) {
    struct platform_description d = {.where = "file"};
    struct cluster c;
    struct error err = {0};
    d.hosts_key = "LIST";
    CU_ASSERT_EQUAL(cluster_make(&d, "job", &c, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "file: LIST: the list of hosts is empty; expected one host or more");
    add(&d, "algo-1", 1);
    add(&d, "b", 1);
    add(&d, "ALGO-1", 1);
    CU_ASSERT_EQUAL(cluster_make(&d, "job", &c, &err), -1);
    ASSERT_CONTAINS(err.text, "file: LIST: the host \"");
    ASSERT_CONTAINS(err.text, "twice");
    CU_ASSERT_PTR_NULL(c.hosts);
    d.count = 2;
    d.where[0] = '\0';
    (void)snprintf(d.self.text, sizeof(d.self.text), "c");
    CU_ASSERT_EQUAL(cluster_make(&d, "job", &c, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "SELF: this host, \"c\", is not in the list of hosts (algo-1, b)");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    platform_description_done(&d);
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
    struct platform_description d = {0};
    struct cluster c;
    struct error err = {0};
    add(&d, "a", 1);
    for (size_t size = CLUSTER_JOB_SIZE - 2; size <= CLUSTER_JOB_SIZE + 44; size++) {
        memset(name, 'j', size);
        name[size] = '\0';
        int made = cluster_make(&d, name, &c, &err);
        CU_ASSERT_EQUAL(made, size < CLUSTER_JOB_SIZE ? 0 : -1);
        CU_ASSERT_STRING_EQUAL(c.job, made == 0 ? name : "");
        ASSERT_CONTAINS(err.text, made == 0 ? "" : "is not 1 to 255 letters");
        cluster_done(&c);
    }
    CU_ASSERT_EQUAL(cluster_make(&d, "a b", &c, &err), -1);
    ASSERT_CONTAINS(err.text, "\"a b\"");
    CU_ASSERT_EQUAL(cluster_make(&d, "", &c, &err), -1);
    platform_description_done(&d);
}

UNIT_SUITE("job.cluster", UNIT(hosts_come_into_natural_order_on_every_host),
           UNIT(what_contradicts_itself_is_an_error_that_names_the_key),
           UNIT(without_a_host_its_ranks_move_up), UNIT(a_jobs_name_has_at_most_255_bytes))
