#include "common/slots/slot_child.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static char output[32];

static void start(struct slot_child *c, const char *script) {
    struct error err = {0};
    const char *const argv[] = {"sh", "-c", script, NULL};
    (void)snprintf(output, sizeof(output), "/tmp/slot-child-XXXXXX");
    const int fd = mkstemp(output);
    CU_ASSERT_FATAL(fd >= 0);
    (void)close(fd);
    CU_ASSERT_EQUAL_FATAL(slot_child_start(c, (char *const *)argv, environ, output, false, &err),
                          0);
    CU_ASSERT_TRUE(slot_child_runs(c));
}

/* Until it has ended, as the caller of slot_child_look does. */
static void look_until_ended(struct slot_child *c) {
    const int64_t until = clock_now() + 60 * CLOCK_SECOND;
    while (slot_child_runs(c) && clock_now() < until) {
        struct pollfd ended = {.fd = c->pidfd, .events = POLLIN};
        (void)poll(&ended, 1, 50);
        slot_child_look(c, clock_now());
    }
    CU_ASSERT_FALSE(slot_child_runs(c));
    (void)unlink(output);
}

static void its_code_is_taken(void) {
    struct slot_child c = {.pidfd = -1};
    start(&c, "echo word; exit 5");
    look_until_ended(&c);
    CU_ASSERT_EQUAL(c.code, 5);
    CU_ASSERT_EQUAL(c.size, 5);
}

static void one_that_ignores_the_request_is_killed(void) {
    struct slot_child c = {.pidfd = -1};
    start(&c, "trap '' TERM; echo ready; sleep 1000");
    const int64_t until = clock_now() + 60 * CLOCK_SECOND;
    while (c.size == 0 && clock_now() < until) {
        struct pollfd ended = {.fd = c.pidfd, .events = POLLIN};
        (void)poll(&ended, 1, 20);
        slot_child_look(&c, clock_now());
    }
    slot_child_end(&c, 100 * CLOCK_MILLISECOND);
    look_until_ended(&c);
    CU_ASSERT_EQUAL(c.code, 128 + SIGKILL);
}

static void done_leaves_nothing(void) {
    struct slot_child c = {.pidfd = -1};
    start(&c, "sleep 1000");
    const pid_t pid = c.pid;
    slot_child_done(&c);
    CU_ASSERT_FALSE(slot_child_runs(&c));
    CU_ASSERT_EQUAL(kill(pid, 0), -1);
    (void)unlink(output);
}

UNIT_SUITE("common.slots.slot_child", UNIT(its_code_is_taken),
           UNIT(one_that_ignores_the_request_is_killed), UNIT(done_leaves_nothing))
