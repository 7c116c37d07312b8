#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/cluster/platform_variables.h"
#include "tests/support/unit.h"

#include <string.h>

static struct local_names own_names(const char *kernel, const char *address) {
    struct local_names own = {.count = 2, .has_kernel_name = true};
    CU_ASSERT_EQUAL(host_name_parse(kernel, strlen(kernel), &own.names[0], NULL), 0);
    CU_ASSERT_EQUAL(host_name_parse(address, strlen(address), &own.names[1], NULL), 0);
    return own;
}

static int parse(const char *hosts, const char *host, struct cluster *ret, struct error *err) {
    struct local_names own = own_names("node2", "10.0.0.2");
    struct platform_description d = {0};
    *ret = (struct cluster){0};
    int result = platform_variables_parse(hosts, host, &own, &d, err) == 0
                     ? cluster_make(&d, "job", ret, err)
                     : -1;
    platform_description_done(&d);
    return result;
}

static void hosts_and_slots_are_read(void) {
    struct cluster c;
    CU_ASSERT_EQUAL(parse("b:2,a,10.0.0.7:16", "b", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.count, 3);
    CU_ASSERT_STRING_EQUAL(c.hosts[0].name.text, "10.0.0.7");
    CU_ASSERT_EQUAL(c.hosts[0].slots, 16);
    CU_ASSERT_EQUAL(c.hosts[1].slots, 0);
    CU_ASSERT_EQUAL(c.hosts[2].slots, 2);
    CU_ASSERT_EQUAL(c.self, 2);
    cluster_done(&c);
}

static void this_host_is_found_by_name_or_address(void) {
    static const char *const lists[] = {"node1,node2", "node1.x.org,node2.x.org",
                                        "10.0.0.1,10.0.0.2", "NODE1,NODE2"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct cluster c;
        CU_ASSERT_EQUAL(parse(lists[i], NULL, &c, NULL), 0);
        CU_ASSERT_EQUAL(c.self, 1);
        cluster_done(&c);
    }
}

/* Host files that were made for a single machine look like this. */
static void a_list_of_localhost_alone_is_this_host(void) {
    static const char *const lists[] = {"localhost", "localhost:8", "127.0.0.1:8", "[::1]:8",
                                        "LocalHost:8"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct cluster c;
        CU_ASSERT_EQUAL_FATAL(parse(lists[i], NULL, &c, NULL), 0);
        CU_ASSERT_EQUAL(c.count, 1);
        CU_ASSERT_EQUAL(c.self, 0);
        CU_ASSERT_EQUAL(cluster_most_slots(&c), i > 0 ? 8 : 0);
        cluster_done(&c);
    }
}

static void doubt_about_this_host_is_an_error(void) {
    static const char *const lists[] = {"node1,node3", "node2.a,node2.b", "node2,10.0.0.2",
                                        "localhost,node3", "localhost.x.org"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct cluster c;
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(lists[i], NULL, &c, &err), -1);
        ASSERT_CONTAINS(err.text, "name or address (node2");
        ASSERT_CONTAINS(err.text, "set RINGMASTER_HOST");
        cluster_done(&c);
    }
    struct cluster c;
    struct error err = {0};
    CU_ASSERT_EQUAL(parse("a,b", "c", &c, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_HOST");
    cluster_done(&c);
}

static void malformed_lists_are_errors(void) {
    static const char *const lists[] = {"a,,b", ",a",   "a,",  "a:",        "a:0", "a:257", "a:x",
                                        "a:-1", "a: 1", "a b", "-oProxy,b", "a,A", "a:1:2", "a;b"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct cluster c;
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(lists[i], "a", &c, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "RINGMASTER_HOSTS");
        bool separated = strpbrk(lists[i], " ;") != NULL;
        CU_ASSERT_EQUAL(strstr(err.text, "(hosts are separated by commas)") != NULL, separated);
        cluster_done(&c);
    }
}

static void ipv6_addresses_are_hosts(void) {
    struct cluster c;
    CU_ASSERT_EQUAL_FATAL(parse("fd00::2,[FD00:0::1]:4,[fd00::3]", "[fd00::2]", &c, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(c.count, 3);
    CU_ASSERT_STRING_EQUAL(c.hosts[0].name.text, "fd00::1");
    CU_ASSERT_EQUAL(c.hosts[0].slots, 4);
    CU_ASSERT_STRING_EQUAL(c.hosts[1].name.text, "fd00::2");
    CU_ASSERT_EQUAL(c.self, 1);
    cluster_done(&c);
}

static void other_hosts_cannot_use_link_local_addresses(void) {
    static const char *const lists[] = {"a,fe80::1%eth0", "a,[fe80::1]:4", "a,fe80::2",
                                        "a,[fd00::2",     "a,[fd00::2]4",  "a,fd00::2]",
                                        "a,[]",           "a,fd00::2:x",   "a,[fd00::2]:"};
    struct cluster c;
    struct error err = {0};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        CU_ASSERT_EQUAL(parse(lists[i], "a", &c, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "RINGMASTER_HOSTS");
        cluster_done(&c);
    }
    CU_ASSERT_EQUAL(parse("a,fe80::2", "a", &c, &err), -1);
    ASSERT_CONTAINS(err.text, "\"fe80::2\" is a link-local address");
    cluster_done(&c);
}

/* The order of the list does not matter. */
static void the_first_in_natural_order_is_the_master(void) {
    struct cluster c;
    CU_ASSERT_EQUAL(parse("10.0.0.20,10.0.0.3", "10.0.0.3", &c, NULL), 0);
    CU_ASSERT(cluster_is_master(&c));
    cluster_done(&c);
}

UNIT_SUITE("job.platform_variables", UNIT(hosts_and_slots_are_read),
           UNIT(this_host_is_found_by_name_or_address),
           UNIT(a_list_of_localhost_alone_is_this_host), UNIT(doubt_about_this_host_is_an_error),
           UNIT(malformed_lists_are_errors), UNIT(ipv6_addresses_are_hosts),
           UNIT(other_hosts_cannot_use_link_local_addresses),
           UNIT(the_first_in_natural_order_is_the_master))
