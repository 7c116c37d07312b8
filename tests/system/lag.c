/* How late this machine is: for tests of promises that are kept in seconds.
 *
 *     lag BEGAN >FILE &      until SIGTERM, or its parent's end
 *
 * What it waited beyond what it wanted (support/lag_turn.h), in all, is printed at the end, in
 * whole ms: its own start, too, where that was asked for at BEGAN, in ms since 1970. */
#include "tests/support/lag_turn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static volatile sig_atomic_t over;

static void on_term(int signal) {
    (void)signal;
    over = 1;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 64;
    signal(SIGTERM, on_term);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int64_t late = lag_now(CLOCK_REALTIME) - strtoll(argv[1], NULL, 10) * 1000000;
    while (!over) {
        int64_t more = lag_turn();
        if (more < 0)
            break;
        late += more;
    }
    printf("%lld\n", (long long)(late / 1000000));
    return 0;
}
