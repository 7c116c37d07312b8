#include "entrypoint/mpi/daemon_uri.h"
#include "tests/support/addresses.h"
#include "tests/support/unit.h"

static int check(const char *uri, unsigned *ret_bits, struct error *err) {
    struct net_address master = address_of("10.0.0.1");
    return daemon_uri_check(uri, "77", &master, 7071, ret_bits, err);
}

static void the_masters_address_and_port_are_found(void) {
    static const char *const good[] = {
        "77.0;tcp://10.0.0.1:7071", "77.0;tcp://10.9.0.1,10.0.0.1:7071",
        "77.0;tcp://10.9.0.1,10.0.0.1:7000,7071", "77.0;tcp://10.0.0.1:7071;tcp6://[fe80::1]:7072"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CU_ASSERT_EQUAL(check(good[i], NULL, NULL), 0);
}

static int check_v6(const char *uri, unsigned *ret_bits, struct error *err) {
    struct net_address master = address_of("fd00::1");
    return daemon_uri_check(uri, "77", &master, 7072, ret_bits, err);
}

static void a_master_with_ipv6_is_found(void) {
    static const char *const good[] = {"77.0;tcp6://[fd00::1]:7072",
                                       "77.0;tcp6://[fe80::1,fd00::1]:7072",
                                       "77.0;tcp://10.0.0.1:7071;tcp6://[fd00::1]:7072"};
    static const char *const bad[] = {"77.0;tcp6://[fd00::2]:7072",
                                      "77.0;tcp6://[fd00::1]:7071",
                                      "77.0;tcp6://fd00::1:7072",
                                      "77.0;tcp6://[fd00::1:7072",
                                      "77.0;tcp6://[fd00::1]7072",
                                      "77.0;tcp6://[fd00::1,evil]:7072",
                                      "77.0;tcp6://[fd00::1]:7072;tcp://6.6.6.6:1",
                                      "77.0;tcp://10.0.0.1:7071",
                                      "77.0;tcp://10.0.0.1:7071;",
                                      "77.0;udp://10.0.0.1:7071;tcp6://[fd00::1]:7072",
                                      "77.0;tcp6://[fd00::1]:7072:64"};
    unsigned bits = 0;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CU_ASSERT_EQUAL(check_v6(good[i], NULL, NULL), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(check_v6(bad[i], NULL, &err), -1);
        ASSERT_CONTAINS(err.text, bad[i]);
    }
    CU_ASSERT_EQUAL(check_v6("77.0;tcp6://[fd00::1]:7072:64", &bits, NULL), 0);
    CU_ASSERT_EQUAL(bits, 64);
    CU_ASSERT_EQUAL(check_v6("77.0;tcp6://[fd00::1]:7072:129", &bits, NULL), -1);
}

static void masks_belong_to_addresses(void) {
    unsigned bits = 0;
    CU_ASSERT_EQUAL(check("77.0;tcp://10.9.0.1,10.0.0.1:7071,7071:8,24", &bits, NULL), 0);
    CU_ASSERT_EQUAL(bits, 24);
    CU_ASSERT_EQUAL(check("77.0;tcp://10.0.0.1:7071:16", &bits, NULL), 0);
    CU_ASSERT_EQUAL(bits, 16);
    /* If an address is listed twice, its first mask counts. */
    CU_ASSERT_EQUAL(check("77.0;tcp://10.0.0.1,10.0.0.1:7071:24,16", &bits, NULL), 0);
    CU_ASSERT_EQUAL(bits, 24);
    CU_ASSERT_EQUAL(check("77.0;tcp://10.0.0.1:7071:33", &bits, NULL), -1);
    CU_ASSERT_EQUAL(check("77.0;tcp://10.0.0.1:7071", &bits, NULL), -1);
}

static void other_addresses_are_refused(void) {
    static const char *const bad[] = {"",
                                      "77",
                                      "77.0",
                                      "78.0;tcp://10.0.0.1:7071",
                                      "7.0;tcp://10.0.0.1:7071",
                                      "77.1;tcp://10.0.0.1:7071",
                                      "77.0;tcp://10.0.0.2:7071",
                                      "77.0;tcp://10.0.0.1:7072",
                                      "77.0;tcp://10.0.0.1",
                                      "77.0;tcp://10.0.0.1:",
                                      "77.0;tcp://:7071",
                                      "77.0;tcp://10.0.0.1:7071:16",
                                      "77.0;tcp://10.0.0.1:7071;usock",
                                      "77.0;tcp://10.0.0.1:7071;tcp6://[::1]:1;tcp://6.6.6.6:1",
                                      "77.0;udp://10.0.0.1:7071",
                                      "77.0;tcp://10.0.0.1,evil:7071",
                                      "77.0;tcp://10.0.0.1,:7071",
                                      "77.0;tcp://10.0.0.1:7071x",
                                      "77.0;tcp://10.0.0.1:70710000000000",
                                      "77.0;tcp://10.0.0.1;tcp6://x",
                                      "77.0;tcp://6.6.6.6,10.0.0.1:6,66"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(check(bad[i], NULL, &err), -1);
        ASSERT_CONTAINS(err.text, bad[i]);
    }
}

static void what_is_wrong_is_reported(void) {
    static const struct {
        const char *uri, *words;
    } rows[] = {
        {"78.0;tcp://10.0.0.1:7071:24", "is not the address of this job's mpirun"},
        {"77.0;tcp://10.0.0.2:7071:24", "does not name the master's address"},
        {"77.0;tcp://10.0.0.11:7071:24", "does not name the master's address"},
        {"77.0;tcp://10.0.0.1:7072:24", "does not name the port of this job's mpirun"},
        {"77.0;tcp://10.0.0.1:7071:33", "has a wrong network mask"},
        {"77.0;tcp://10.0.0.1:7071:24;usock", "is followed by unknown text"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {0};
        unsigned bits = 0;
        CU_ASSERT_EQUAL(check(rows[i].uri, &bits, &err), -1);
        ASSERT_CONTAINS(err.text, rows[i].words);
    }
}

UNIT_SUITE("mpi.daemon_uri", UNIT(what_is_wrong_is_reported),
           UNIT(the_masters_address_and_port_are_found), UNIT(a_master_with_ipv6_is_found),
           UNIT(masks_belong_to_addresses), UNIT(other_addresses_are_refused))
