#include "entrypoint/master/state/rejected_peers.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "tests/support/addresses.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* What is logged comes here. */
static char said[8192];

static void put(void *context, const char *line, size_t size) {
    size_t used = strlen(said);
    (void)context;
    (void)snprintf(said + used, sizeof(said) - used, "%.*s", (int)size, line);
}

static size_t lines(const char *part) {
    size_t count = 0;
    for (const char *at = said; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

static struct loop loop;
static struct reaper reaper;
static struct rejected_peers strangers;
static bool missing[4] = {false, true, true, true};
static struct cluster_host hosts[4] = {{.name = {"127.0.0.1"}},
                                       {.name = {"127.0.0.2"}},
                                       {.name = {"localhost"}},
                                       {.name = {"no.such.host.invalid"}}};
static const struct cluster cluster = {.hosts = hosts, .count = 4};

static bool is_missing(void *context, size_t host) {
    (void)context;
    return missing[host];
}

static void end(void *context) {
    (void)context;
    loop_end(&loop);
}

static void open_all(void) {
    said[0] = '\0';
    (void)log_set_sink((struct log_sink){.put = put});
    reaping_open(&loop, &reaper);
    rejected_peers_open(&strangers, &loop, &reaper, &cluster, is_missing, NULL);
}

static void close_all(void) {
    rejected_peers_close(&strangers);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    loop_done(&loop);
    (void)log_set_sink((struct log_sink){0});
}

/* "10.0." and 257 are 10.0.1.1. */
static const char *behind(const char *prefix, uint32_t last) {
    static char text[NET_ADDRESS_TEXT];
    (void)snprintf(text, sizeof(text), "%s%u.%u", prefix, last / 256, last % 256);
    return text;
}

static void add(const char *text, enum exit_code code) {
    const struct error why = {.code = code, .text = "some reason"};
    struct net_address address = address_of(text);
    rejected_peers_add(&strangers, &address, &why);
}

/* Until all have been looked up, or one was found: a name that leads nowhere may take its time. */
static int look(void) {
    struct net_address address = {0};
    for (int i = 0; i < 6000 && strangers.looking; i++) {
        struct timer turn = {.fire = end};
        loop_after(&loop, &turn, 10 * CLOCK_MILLISECOND);
        CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    }
    CU_ASSERT_FALSE(strangers.looking);
    return rejected_peers_host(&strangers, &address);
}

static void a_missing_host_with_another_key_is_found_by_its_address(void) {
    struct net_address address = {0};
    open_all();
    add("127.0.0.1", EXIT_CODE_KEY_REFUSED); /* localhost, after a peer with another address */
    CU_ASSERT_EQUAL(look(), 2);
    CU_ASSERT_EQUAL(rejected_peers_host(&strangers, &address), 2);
    ASSERT_ADDRESS(&address, "127.0.0.1");
    ASSERT_CONTAINS(said, "a peer at 127.0.0.1 was refused: some reason");
    ASSERT_CONTAINS(said, "that is localhost, at 127.0.0.1");
    missing[2] = false; /* it came again with the right one */
    CU_ASSERT_EQUAL(rejected_peers_host(&strangers, &address), -1);
    strangers.looked -= REJECTED_PEERS_LOOK_SECONDS * CLOCK_SECOND;
    add("127.0.0.2", EXIT_CODE_KEY_REFUSED); /* and then another has another key */
    CU_ASSERT_EQUAL(look(), 1);
    missing[2] = true;
    close_all();
}

static void an_address_of_no_missing_host_is_nobody(void) {
    open_all();
    add("127.0.0.9", EXIT_CODE_KEY_REFUSED);
    CU_ASSERT_EQUAL(look(), -1);
    close_all();
}

static void strangers_are_reported_once_a_minute_and_counted(void) {
    open_all();
    for (uint32_t i = 0; i < 1000; i++)
        add(behind("10.0.", 1 + i), EXIT_CODE_NOT_READY);
    CU_ASSERT_EQUAL(lines("a stranger at"), 1);
    ASSERT_CONTAINS(said, "a stranger at 10.0.0.1 was turned away: some reason (1 since");
    CU_ASSERT_FALSE(strangers.looking);
    strangers.said -= REJECTED_PEERS_SAID_SECONDS * CLOCK_SECOND;
    add("10.0.0.1", EXIT_CODE_NOT_READY);
    CU_ASSERT_EQUAL(lines("a stranger at"), 2);
    ASSERT_CONTAINS(said, "(1000 since");
    close_all();
}

static void another_key_is_reported_at_once_for_each_address_and_then_seldom(void) {
    open_all();
    for (int turn = 0; turn < 50; turn++)
        for (uint32_t i = 0; i < 3; i++)
            add(behind("10.0.", 1 + i), EXIT_CODE_KEY_REFUSED);
    CU_ASSERT_EQUAL(lines("was refused"), 3);
    for (uint32_t i = 0; i < 1000; i++) /* a host with many addresses */
        add(behind("10.1.", 1 + i), EXIT_CODE_KEY_REFUSED);
    CU_ASSERT(lines("was refused") <= REJECTED_PEERS_MAX);
    close_all();
}

UNIT_SUITE("master.rejected_peers", UNIT(a_missing_host_with_another_key_is_found_by_its_address),
           UNIT(an_address_of_no_missing_host_is_nobody),
           UNIT(strangers_are_reported_once_a_minute_and_counted),
           UNIT(another_key_is_reported_at_once_for_each_address_and_then_seldom))
