#include "entrypoint/mpi/dropped.h"
#include "tests/support/unit.h"

#include <string.h>

/* The banner as Open MPI 4.1.4 printed it. */
static const char *const banner[] = {
    "--------------------------------------------------------------------------",
    "Open MPI detected an inbound MPI TCP connection request from a peer",
    "that appears to be part of this MPI job (i.e., it identified itself as",
    "part of this Open MPI job), but it is from an IP address that is",
    "unexpected.  This is highly unusual.",
    "",
    "The inbound connection has been dropped, and the peer should simply",
    "try again with a different IP interface (i.e., the job should",
    "hopefully be able to continue).",
    "",
    "  Local host:          algo-1",
    "  Local PID:           34",
    "  Peer hostname:       algo-2 ([[41210,1],17])",
    "  Source IP of socket: 10.77.0.98",
    "  Known IPs of peer:   ",
    "\talgo-2",
};
enum { LINES = sizeof(banner) / sizeof(banner[0]), SOURCE = 13, PEER = 12 };

static bool add(struct dropped *d, const char *line) {
    return dropped_add(d, line, strlen(line));
}

static void the_banner_names_rank_and_source(void) {
    struct dropped d = {0};
    char text[NET_ADDRESS_TEXT];
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < LINES; i++)
            CU_ASSERT_EQUAL(add(&d, banner[i]), i == SOURCE);
        CU_ASSERT_EQUAL(d.rank, 17);
        net_address_text(&d.source, text);
        CU_ASSERT_STRING_EQUAL(text, "10.77.0.98");
    }
}

static void an_ipv6_source_is_read_too(void) {
    struct dropped d = {0};
    CU_ASSERT_FALSE(add(&d, banner[1]));
    CU_ASSERT_FALSE(add(&d, banner[PEER]));
    CU_ASSERT(add(&d, "  Source IP of socket: fd00::98"));
    CU_ASSERT_FALSE(net_address_is_ipv4(&d.source));
}

static void other_words_are_none(void) {
    static const char *const peers[] = {"  Peer hostname:       algo-2",
                                        "  Peer hostname:       a,b ([[1,1],])",
                                        "  Peer hostname:       algo-2 ([[41210,1],x])",
                                        "  Peer hostname:       ,])",
                                        "  Peer hostname:       ])",
                                        "  Peer hostname:       ",
                                        "  Peer hostname: a ([[1,1],99999999999999999999])"};
    static const char *const sources[] = {
        "  Source IP of socket: ", "  Source IP of socket: nowhere",
        "  Source IP of socket: 1.2.3.4.5.6.7.8.9.10.11.12.13."
        "14.15.16.17.18.19.20.21.22.23.24.25.26"};
    struct dropped d = {0};
    for (size_t i = 2; i < LINES; i++) /* without the banner's first line of text */
        CU_ASSERT_FALSE(add(&d, banner[i]));
    for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
        CU_ASSERT_FALSE(add(&d, banner[1]));
        CU_ASSERT_FALSE(add(&d, peers[i]));
        CU_ASSERT_FALSE(add(&d, banner[SOURCE]));
    }
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        CU_ASSERT_FALSE(add(&d, banner[1]));
        CU_ASSERT_FALSE(add(&d, banner[PEER]));
        CU_ASSERT_FALSE(add(&d, sources[i]));
    }
}

static void a_garbled_banner_is_known(void) {
    static const struct {
        const char *line;
        bool garbled;
    } rows[] = {
        {"[algo-1:00028] [[41210,0],0] ORTE_ERROR_LOG: Out of resource in file "
         "../../../orte/util/show_help.c at line 501",
         true},
        {"[algo-1:00028] [[41210,0],0] ORTE_ERROR_LOG: Not found in file orte/mca/ess.c", false},
        {"orte/util/show_help.c", false},
        {"", false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_EQUAL(dropped_is_garbled(rows[i].line, strlen(rows[i].line)), rows[i].garbled);
}

UNIT_SUITE("mpi.dropped", UNIT(a_garbled_banner_is_known), UNIT(the_banner_names_rank_and_source),
           UNIT(an_ipv6_source_is_read_too), UNIT(other_words_are_none))
