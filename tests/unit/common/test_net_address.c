#include "common/net_address.h"

#include "tests/support/addresses.h"

#include <arpa/inet.h>
#include <string.h>

static void texts_come_back_in_their_canonical_form(void) {
    static const struct {
        const char *text, *canonical;
        bool ipv4;
    } rows[] = {
        {"10.0.0.1", "10.0.0.1", true},        {"255.255.255.255", "255.255.255.255", true},
        {"fd00::1", "fd00::1", false},         {"FD00:0:0::0001", "fd00::1", false},
        {"::ffff:10.0.0.1", "10.0.0.1", true}, {"::1", "::1", false},
        {"0.0.0.0", "0.0.0.0", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct net_address address = address_of(rows[i].text);
        char text[NET_ADDRESS_TEXT];
        net_address_text(&address, text);
        CU_ASSERT_STRING_EQUAL(text, rows[i].canonical);
        CU_ASSERT_EQUAL(net_address_is_ipv4(&address), rows[i].ipv4);
    }
}

static void other_texts_are_no_addresses(void) {
    static const char *const bad[] = {"",           "algo-1", "10.0.0",       "10.0.0.1 ",
                                      "10.0.0.256", "[::1]",  "fe80::1%eth0", "fd00::1:"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct net_address address;
        memset(&address, 1, sizeof(address));
        CU_ASSERT_FALSE(net_address_parse(bad[i], &address));
        CU_ASSERT_FALSE(net_address_is_set(&address));
    }
}

static void no_address_is_none(void) {
    struct net_address none = {0}, any = address_of("0.0.0.0"), one = address_of("10.0.0.1");
    char text[NET_ADDRESS_TEXT];
    net_address_text(&none, text);
    CU_ASSERT_STRING_EQUAL(text, "0.0.0.0");
    CU_ASSERT_FALSE(net_address_is_set(&none) || net_address_is_set(&any));
    CU_ASSERT(net_address_is_set(&one));
}

static void sockets_go_both_ways(void) {
    static const char *const texts[] = {"10.0.0.1", "fd00::1"};
    for (size_t i = 0; i < 2; i++) {
        struct net_address address = address_of(texts[i]), back;
        struct sockaddr_storage at;
        memset(&at, 0x55, sizeof(at));
        socklen_t size = net_address_socket(&address, 7071, &at);
        CU_ASSERT_EQUAL(((const char *)&at)[sizeof(at) - 1], 0); /* all of it is set */
        CU_ASSERT_EQUAL(at.ss_family, i == 0 ? AF_INET : AF_INET6);
        CU_ASSERT_EQUAL(size, i == 0 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
        CU_ASSERT_EQUAL(((struct sockaddr_in *)&at)->sin_port, htons(7071));
        CU_ASSERT(net_address_of((struct sockaddr *)&at, &back));
        CU_ASSERT(net_address_equal(&address, &back));
    }
    struct net_address address = address_of("10.0.0.1");
    CU_ASSERT_FALSE(net_address_of(&(struct sockaddr){.sa_family = AF_UNIX}, &address));
    CU_ASSERT_FALSE(net_address_is_set(&address));
}

static void what_hangs_on_an_interface_is_known(void) {
    struct net_address local = address_of("fe80::1"), other = address_of("fd00::1");
    CU_ASSERT(net_address_is_link_local(&local));
    CU_ASSERT_FALSE(net_address_is_link_local(&other) || net_address_equal(&local, &other));
}

UNIT_SUITE("common.net_address", UNIT(texts_come_back_in_their_canonical_form),
           UNIT(other_texts_are_no_addresses), UNIT(no_address_is_none), UNIT(sockets_go_both_ways),
           UNIT(what_hangs_on_an_interface_is_known))
