/* How late this machine is: for tests of promises that are kept in seconds.
 *
 *     lag >FILE &            until SIGTERM, or its parent's end
 *
 * What it waited beyond what it wanted (support/lag_turn.h), in all, is printed at the end, in
 * whole ms. */
#include "support/lag_turn.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

static volatile sig_atomic_t over;

static void on_term(int signal) {
    (void)signal;
    over = 1;
}

int main(void) {
    int64_t late = 0;
    signal(SIGTERM, on_term);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    while (!over) {
        int64_t more = lag_turn();
        if (more < 0)
            break;
        late += more;
    }
    printf("%lld\n", (long long)(late / 1000000));
    return 0;
}
