#include "common/clock.h"
#include "entrypoint/host/monitor/cpu_time.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void burn(int64_t nanoseconds) {
    struct timespec t = {0};
    do
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (t.tv_sec * CLOCK_SECOND + t.tv_nsec < nanoseconds);
}

/* Ticks are a hundredth of a second. */
static const int64_t tick = CLOCK_SECOND / 100;

static void children_and_theirs_count(void) {
    int ends[2];
    char byte = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    int64_t before = cpu_time_below(getpid());
    pid_t pid = fork();
    if (pid == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            burn(20 * tick);
            (void)!write(ends[1], &byte, 1);
            (void)pause();
        }
        burn(10 * tick);
        (void)!write(ends[1], &byte, 1);
        (void)pause();
    }
    CU_ASSERT(read(ends[0], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
    CU_ASSERT(cpu_time_below(getpid()) - before >= 28 * tick);
    CU_ASSERT(cpu_time_below(pid) >= 19 * tick);
    (void)kill(pid, SIGKILL);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, 0), pid);
    /* What was reaped stays counted. */
    CU_ASSERT(cpu_time_below(getpid()) - before >= 9 * tick);
    CU_ASSERT_EQUAL(cpu_time_below(pid), 0);
}

UNIT_SUITE("host.cpu_time", UNIT(children_and_theirs_count))
