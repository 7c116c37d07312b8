/* Loaded into the processes of one host (LD_PRELOAD): simulates a time of day that somebody changes
 * while they run. The file that CLOCK_STEP names says how many seconds it is off. When the host's
 * first process reads any clock after a change, it creates the file CLOCK_STEP-SECONDS. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void tell(const char *path, long seconds) {
    static long told;
    char name[4096];
    if (seconds == told || getpid() != 1)
        return;
    told = seconds;
    (void)snprintf(name, sizeof(name), "%s-%ld", path, seconds);
    int fd = (int)syscall(SYS_open, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0)
        (void)syscall(SYS_close, fd);
}

static long step(void) {
    char text[32] = "";
    const char *path = getenv("CLOCK_STEP");
    int fd = path != NULL ? (int)syscall(SYS_open, path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    (void)syscall(SYS_read, fd, text, sizeof(text) - 1);
    (void)syscall(SYS_close, fd);
    long seconds = strtol(text, NULL, 10);
    tell(path, seconds);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int code = (int)syscall(SYS_clock_gettime, clock, now);
    bool of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (code == 0 && (of_day || getpid() == 1)) {
        long seconds = step();
        now->tv_sec += of_day ? seconds : 0;
    }
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec t;
    (void)zone;
    int code = clock_gettime(CLOCK_REALTIME, &t);
    now->tv_sec = t.tv_sec;
    now->tv_usec = t.tv_nsec / 1000;
    return code;
}

time_t time(time_t *to) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    if (to != NULL)
        *to = t.tv_sec;
    return t.tv_sec;
}
