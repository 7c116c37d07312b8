#include "entrypoint/job/machine/interface.h"
#include "tests/support/addresses.h"
#include "tests/support/unit.h"

#include <string.h>

static void the_configured_interface_is_taken_where_it_exists(void) {
    struct interface i;
    char warning[INTERFACE_WARNING_SIZE];
    CU_ASSERT_EQUAL_FATAL(interface_choose("lo", NULL, &i, warning, NULL), 0);
    CU_ASSERT_STRING_EQUAL(i.name, "lo");
    CU_ASSERT_STRING_EQUAL(warning, "");
    char text[INTERFACE_TEXT_SIZE];
    ASSERT_ADDRESS(&i.address, "127.0.0.1");
    interface_cidr(&i, text);
    CU_ASSERT_STRING_EQUAL(text, "127.0.0.0/8");
}

static void a_missing_one_gives_way_to_the_routed_one_with_a_warning(void) {
    struct net_address peer = address_of("127.0.0.3");
    struct interface i;
    char warning[INTERFACE_WARNING_SIZE];
    CU_ASSERT_EQUAL_FATAL(interface_choose("ethwe", &peer, &i, warning, NULL), 0);
    CU_ASSERT_STRING_EQUAL(i.name, "lo");
    ASSERT_CONTAINS(warning, "ethwe");
    ASSERT_CONTAINS(warning, "using lo");
    CU_ASSERT_EQUAL(interface_choose("", &peer, &i, warning, NULL), 0);
    CU_ASSERT_STRING_EQUAL(warning, "");
}

static void a_peer_with_ipv6_is_met_over_ipv6(void) {
    struct net_address peer = address_of("::1");
    struct interface i;
    char warning[INTERFACE_WARNING_SIZE];
    struct error err = {0};
    if (interface_choose("lo", &peer, &i, warning, &err) != 0) {
        unit_skip(err.text); /* no IPv6 on this machine's loopback */
        return;
    }
    CU_ASSERT_STRING_EQUAL(i.name, "lo");
    ASSERT_ADDRESS(&i.address, "::1");
    CU_ASSERT_EQUAL(i.prefix, 128);
    CU_ASSERT_STRING_EQUAL(warning, "");
    CU_ASSERT_EQUAL(interface_choose("ethwe", &peer, &i, warning, NULL), 0);
    ASSERT_CONTAINS(warning, "not up with IPv6; using lo");
}

static void a_host_alone_takes_what_there_is(void) {
    struct interface i;
    char warning[INTERFACE_WARNING_SIZE];
    CU_ASSERT_EQUAL(interface_choose(NULL, NULL, &i, warning, NULL), 0);
    CU_ASSERT_STRING_EQUAL(warning, "");
    CU_ASSERT(strlen(i.name) > 0 && i.prefix > 0 && i.prefix <= 32);
}

static void an_unreachable_peer_is_an_error(void) {
    struct net_address peer = address_of("255.255.255.255");
    struct interface i;
    char warning[INTERFACE_WARNING_SIZE];
    struct error err = {0};
    CU_ASSERT_EQUAL(interface_choose(NULL, &peer, &i, warning, &err), -1);
    ASSERT_CONTAINS(err.text, "255.255.255.255");
}

static void networks_are_written_with_their_bits(void) {
    struct interface i = {.name = "eth0", .address = address_of("172.18.3.254"), .prefix = 16};
    char text[INTERFACE_TEXT_SIZE];
    interface_cidr(&i, text);
    CU_ASSERT_STRING_EQUAL(text, "172.18.0.0/16");
    i.prefix = 32;
    interface_cidr(&i, text);
    CU_ASSERT_STRING_EQUAL(text, "172.18.3.254/32");
    i.prefix = 0;
    interface_cidr(&i, text);
    CU_ASSERT_STRING_EQUAL(text, "0.0.0.0/0");
    i = (struct interface){.address = address_of("fd00:77:ffff::1"), .prefix = 36};
    interface_cidr(&i, text);
    CU_ASSERT_STRING_EQUAL(text, "fd00:77:f000::/36");
    i.prefix = 128;
    interface_cidr(&i, text);
    CU_ASSERT_STRING_EQUAL(text, "fd00:77:ffff::1/128");
}

static void names_are_checked(void) {
    static const char *const good[] = {"eth0", "ens5", "br-0a1b", "eth0.100", "wg_0"};
    static const char *const bad[] = {"",   "eth0;x", "../x",   "a/b",
                                      ".",  "..",     "eth 0",  "sixteen-letters-",
                                      "-o", "eth0\n", "eth0:1", "$x"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CU_ASSERT_EQUAL(interface_check_name(good[i], NULL), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(interface_check_name(bad[i], &err), -1);
        ASSERT_CONTAINS(err.text, bad[i]);
    }
}

UNIT_SUITE("job.interface", UNIT(the_configured_interface_is_taken_where_it_exists),
           UNIT(a_missing_one_gives_way_to_the_routed_one_with_a_warning),
           UNIT(a_host_alone_takes_what_there_is), UNIT(a_peer_with_ipv6_is_met_over_ipv6),
           UNIT(an_unreachable_peer_is_an_error), UNIT(networks_are_written_with_their_bits),
           UNIT(names_are_checked))
