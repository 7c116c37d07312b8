#include "entrypoint/mpi/addresses.h"

#include "tests/support/addresses.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct cluster_host hosts[3];
static const struct cluster cluster = {.hosts = hosts, .count = 3};

static void three_hosts(void) {
    static const char *const addresses[] = {"10.0.0.1", "10.0.0.2", "10.0.0.21"};
    static const char *const names[] = {"algo-1", "algo-2", "node.example"};
    for (size_t i = 0; i < 3; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "%s", names[i]);
        hosts[i].address = address_of(addresses[i]);
    }
}

static void a_host_is_found_by_its_address(void) {
    three_hosts();
    CU_ASSERT_EQUAL(addresses_find(&cluster, "10.0.0.1"), 0);
    CU_ASSERT_EQUAL(addresses_find(&cluster, "10.0.0.21"), 2);
    CU_ASSERT_EQUAL(addresses_find(&cluster, "10.0.0.3"), -1);
    CU_ASSERT_EQUAL(addresses_find(&cluster, "algo-1"), -1);
    CU_ASSERT_EQUAL(addresses_find(&cluster, ""), -1);
    hosts[1].address = (struct net_address){0};
    CU_ASSERT_EQUAL(addresses_find(&cluster, "0.0.0.0"), -1);
}

static void each_host_has_an_address_of_its_own(void) {
    struct error err = {0};
    three_hosts();
    CU_ASSERT_EQUAL(addresses_check(&cluster, "10.0.0.1", &err), 0);
    CU_ASSERT_EQUAL(addresses_check(&cluster, "10.0.0.2", &err), -1);
    ASSERT_CONTAINS(err.text, "\"10.0.0.2\", which is algo-2's address");
    hosts[2].address = hosts[0].address;
    CU_ASSERT_EQUAL(addresses_check(&cluster, "10.0.0.1", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "algo-1 and node.example both have the address 10.0.0.1");
    hosts[0].gone = true;
    CU_ASSERT_EQUAL(addresses_check(&cluster, "10.0.0.1", &err), 0);
    hosts[1].address = (struct net_address){0};
    CU_ASSERT_EQUAL(addresses_check(&cluster, "10.0.0.1", &err), -1);
    ASSERT_CONTAINS(err.text, "algo-2");
}

static void hosts_with_ipv6_have_stand_ins(void) {
    struct error err = {0};
    char node[ADDRESSES_NODE_SIZE];
    three_hosts();
    hosts[2].address = address_of("fd00::3");
    CU_ASSERT_EQUAL(addresses_check(&cluster, "vm", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "algo-1 is at 10.0.0.1 and node.example at fd00::3");
    hosts[0].address = address_of("fd00::1");
    hosts[1].address = address_of("fd00::2");
    CU_ASSERT_EQUAL(addresses_check(&cluster, "vm", &err), 0);
    addresses_node(&cluster, 0, node);
    CU_ASSERT_STRING_EQUAL(node, "127.0.0.1");
    addresses_node(&cluster, 2, node);
    CU_ASSERT_STRING_EQUAL(node, "240.0.0.2");
    CU_ASSERT_EQUAL(addresses_find(&cluster, "240.0.0.2"), 2);
    CU_ASSERT_EQUAL(addresses_find(&cluster, "240.0.0.3"), -1);
    CU_ASSERT_EQUAL(addresses_find(&cluster, "fd00::3"), -1);
    hosts[1].address = hosts[2].address;
    CU_ASSERT_EQUAL(addresses_check(&cluster, "vm", &err), -1);
    ASSERT_CONTAINS(err.text, "algo-2 and node.example both have the address fd00::3");
}

static void told(const char *text, const char *expected) {
    cleanup_buf struct buf ret;
    buf_init(&ret, 1024);
    CU_ASSERT_EQUAL(addresses_to_names(&cluster, text, strlen(text), &ret, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&ret), expected);
}

static void people_are_shown_names(void) {
    three_hosts();
    told("", "");
    told("lost 10.0.0.2.", "lost algo-2.");
    told("10.0.0.1,10.0.0.21:7071", "algo-1,node.example:7071");
    told("10.0.0.211 and 110.0.0.2 and 10.0.0.2.1", "10.0.0.211 and 110.0.0.2 and 10.0.0.2.1");
    told("v10.0.0.1 ip-10.0.0.1 4.1.4 7 .", "v10.0.0.1 ip-10.0.0.1 4.1.4 7 .");
    told("..10.0.0.2", "..algo-2");
    told("10.0.0.2\xc3\xa9[10.0.0.1]\n", "algo-2\xc3\xa9[algo-1]\n");
}

UNIT_SUITE("mpi.addresses", UNIT(a_host_is_found_by_its_address),
           UNIT(each_host_has_an_address_of_its_own), UNIT(hosts_with_ipv6_have_stand_ins),
           UNIT(people_are_shown_names))
