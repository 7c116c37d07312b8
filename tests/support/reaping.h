/* A loop that reaps the children of a test. */
#ifndef TESTS_SUPPORT_REAPING_H
#define TESTS_SUPPORT_REAPING_H

#include "entrypoint/os/child.h"
#include "entrypoint/os/loop.h"
#include "tests/support/unit.h"

#include <signal.h>

static inline void reaping_signal(void *reaper, int number) {
    (void)number;
    (void)reaper_run(reaper);
}

/* Opens LOOP. */
static inline void reaping_open(struct loop *loop, struct reaper *reaper) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    CU_ASSERT_EQUAL_FATAL(loop_init(loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(loop_signals(loop, &set, reaping_signal, reaper, NULL), 0);
}

#endif
