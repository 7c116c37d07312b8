#include "run/stop.h"
#include "support/unit.h"

#include <poll.h>
#include <signal.h>

static bool is_readable(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void a_signal_asks_and_does_not_end_the_process(void) {
    CU_ASSERT_EQUAL(stop_listen(NULL), 0);
    CU_ASSERT_FALSE(stop_requested());
    CU_ASSERT_FALSE(is_readable(stop_descriptor()));
    CU_ASSERT_EQUAL(raise(SIGTERM), 0);
    CU_ASSERT(stop_requested());
    CU_ASSERT(is_readable(stop_descriptor()));
    CU_ASSERT_EQUAL(raise(SIGINT), 0);
    CU_ASSERT(stop_requested());
}

UNIT_MAIN("app.stop", UNIT(a_signal_asks_and_does_not_end_the_process))
