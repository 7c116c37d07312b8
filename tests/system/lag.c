/* How late this machine is: for tests of promises that are kept in seconds.
 *
 *     lag BEGAN >FILE &      until SIGTERM, or its parent's end
 *     lag longest >FILE &    the same
 *
 * The first form prints at its end, in whole ms, the sum of what it waited beyond what it wanted
 * (support/lag_turn.h), its own start included: that was asked for at BEGAN, in ms since 1970. The
 * second prints the longest of these delays, and looks seldom enough to run beside a whole test. */
#include "tests/support/lag_turn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static volatile sig_atomic_t over;

static void on_term(int signal) {
    (void)signal;
    over = 1;
}

/* The sum of all delays, LATE at first. */
static int64_t sum(int64_t late) {
    while (!over) {
        int64_t more = lag_turn(LAG_REST);
        if (more < 0)
            break;
        late += more;
    }
    return late;
}

static int64_t longest(void) {
    int64_t late = 0;
    while (!over) {
        int64_t now = lag_turn(25 * LAG_REST);
        if (now > late)
            late = now;
    }
    return late;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 64;
    signal(SIGTERM, on_term);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int64_t late = strcmp(argv[1], "longest") == 0
                       ? longest()
                       : sum(lag_now(CLOCK_REALTIME) - strtoll(argv[1], NULL, 10) * 1000000);
    printf("%lld\n", (long long)(late / 1000000));
    return 0;
}
