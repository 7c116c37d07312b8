/* Loaded into the processes of one host (LD_PRELOAD): a rank's program that marks its steps is held
 * at one of them until it is released, so that a test can act in the middle of a training, however
 * fast that is. HOLD_STEP says which step, HOLD_UNTIL names the file that releases it. Only the
 * first attempt is held. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int progress = -1;
static uint64_t held;
static const char *until;

__attribute__((constructor)) static void loaded(void) {
    const char *path = getenv("RINGMASTER_PROGRESS");
    const char *attempt = getenv("RINGMASTER_ATTEMPT");
    const char *step = getenv("HOLD_STEP");
    until = getenv("HOLD_UNTIL");
    if (path == NULL || attempt == NULL || strcmp(attempt, "1") != 0 || step == NULL ||
        until == NULL)
        return;
    held = strtoull(step, NULL, 10);
    progress = open(path, O_RDONLY | O_CLOEXEC);
}

/* The progress file begins with the number of marks, then the step. */
static uint64_t step(void) {
    uint64_t slot[2] = {0};
    return progress >= 0 && pread(progress, slot, sizeof(slot), 0) == (ssize_t)sizeof(slot)
               ? slot[1]
               : 0;
}

/* A trainer reads a clock in each of its steps. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    while (progress >= 0 && step() >= held && access(until, F_OK) != 0)
        (void)syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 50000000}, NULL);
    return (int)syscall(SYS_clock_gettime, clock, now);
}
