/* How late this machine is: for tests of promises that are kept in seconds.
 *
 *     lag >FILE &            until SIGTERM, or its parent's end
 *
 * It wants 10 ms of sleep and then half a millisecond of a processor, again and again, as the
 * processes under test do in turn. What it waited beyond that, in all, is printed at the end, in
 * whole ms. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#define SLEEP_NS INT64_C(10000000)
#define WORK_NS INT64_C(500000)

static volatile sig_atomic_t over;

static void on_term(int signal) {
    (void)signal;
    over = 1;
}

static int64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void) {
    int64_t late = 0;
    signal(SIGTERM, on_term);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    while (!over) {
        int64_t began = now(CLOCK_MONOTONIC), worked = now(CLOCK_THREAD_CPUTIME_ID);
        const struct timespec sleep = {.tv_nsec = SLEEP_NS};
        if (nanosleep(&sleep, NULL) != 0)
            break;
        while (now(CLOCK_THREAD_CPUTIME_ID) - worked < WORK_NS)
            ;
        late += now(CLOCK_MONOTONIC) - began - SLEEP_NS - (now(CLOCK_THREAD_CPUTIME_ID) - worked);
    }
    printf("%lld\n", (long long)(late / 1000000));
    return 0;
}
