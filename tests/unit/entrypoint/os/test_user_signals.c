#include "entrypoint/os/user_signals.h"
#include "tests/support/unit.h"

static void what_ends_or_stops_this_program_is_none(void) {
    static const int others[] = {SIGTERM, SIGINT,  SIGHUP,  SIGKILL, SIGSTOP, SIGCHLD,
                                 SIGTSTP, SIGPIPE, SIGSEGV, SIGABRT, SIGWINCH};
    sigset_t set;
    (void)sigemptyset(&set);
    user_signals_add(&set);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        CU_ASSERT_FALSE(user_signals_has(others[i]));
        CU_ASSERT_EQUAL(sigismember(&set, others[i]), 0);
    }
}

static void the_set_has_what_is_passed_on(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    user_signals_add(&set);
    for (int number = 1; number < 32; number++)
        CU_ASSERT_EQUAL(sigismember(&set, number), user_signals_has(number));
    CU_ASSERT(user_signals_has(SIGUSR1) && user_signals_has(SIGUSR2) && user_signals_has(SIGQUIT));
}

static void a_supervisor_also_handles_stops_and_ends_of_children(void) {
    static const int own[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    sigset_t set;
    user_signals_handled(&set);
    for (int number = 1; number < 32; number++) {
        bool expected = user_signals_has(number);
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            expected |= own[i] == number;
        CU_ASSERT_EQUAL(sigismember(&set, number), expected);
    }
}

UNIT_SUITE("os.user_signals", UNIT(what_ends_or_stops_this_program_is_none),
           UNIT(the_set_has_what_is_passed_on),
           UNIT(a_supervisor_also_handles_stops_and_ends_of_children))
