#include "entrypoint/wire/resolve.h"

#include "common/clock.h"
#include "tests/support/addresses.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/wait.h>

static struct loop loop;
static struct reaper reaper;
static struct net_address first;
static size_t answers;
static int calls;

static void done(void *context, const struct net_address *found, size_t count) {
    (void)context;
    answers = count;
    if (count > 0)
        first = found[0];
    calls++;
    loop_end(&loop);
}

static void open_loop(void) {
    calls = 0;
    reaping_open(&loop, &reaper);
}

static void close_loop(void) {
    while (waitpid(-1, NULL, 0) > 0)
        ;
    loop_done(&loop);
}

static size_t look_up(const char *name) {
    struct resolve r;
    struct error err;
    open_loop();
    CU_ASSERT_EQUAL_FATAL(resolve_start(&r, &loop, &reaper, name, done, NULL, &err), 0);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    CU_ASSERT_EQUAL(calls, 1);
    resolve_cancel(&r);
    close_loop();
    return answers;
}

static void names_and_addresses_are_found(void) {
    CU_ASSERT(look_up("localhost") >= 1);
    ASSERT_ADDRESS(&first, "127.0.0.1");
    CU_ASSERT_EQUAL(look_up("127.0.0.9"), 1);
    ASSERT_ADDRESS(&first, "127.0.0.9");
}

static void a_name_that_is_not_known_gives_nothing(void) {
    CU_ASSERT_EQUAL(look_up("no.such.host.invalid"), 0);
}

static void a_name_with_ipv6_alone_has_its_addresses(void) {
    CU_ASSERT_EQUAL(look_up("fd00::9"), 1);
    ASSERT_ADDRESS(&first, "fd00::9");
    CU_ASSERT_EQUAL(look_up("fe80::9"), 0); /* no interface is given for it */
}

static void a_search_that_was_given_up_is_silent(void) {
    struct resolve r;
    struct error err;
    open_loop();
    CU_ASSERT_EQUAL_FATAL(resolve_start(&r, &loop, &reaper, "localhost", done, NULL, &err), 0);
    resolve_cancel(&r);
    resolve_cancel(&r);
    CU_ASSERT_EQUAL(calls, 0);
    CU_ASSERT_PTR_NULL(reaper.children);
    close_loop();
}

UNIT_SUITE("wire.resolve", UNIT(names_and_addresses_are_found),
           UNIT(a_name_that_is_not_known_gives_nothing),
           UNIT(a_name_with_ipv6_alone_has_its_addresses),
           UNIT(a_search_that_was_given_up_is_silent))
