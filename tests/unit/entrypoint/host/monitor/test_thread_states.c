#include "entrypoint/host/monitor/thread_states.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/str.h"
#include "tests/support/unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that sleeps under a name. */
static pid_t start(const char *name, int *ready) {
    char byte = 'x';
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_NAME, name);
        (void)!write(ends[1], &byte, 1);
        for (;;)
            (void)pause();
    }
    *ready = ends[0];
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 1);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return pid;
}

/* What is said of the processes below this one, once PART is in it: they sleep a moment after their
 * word, and a sanitizer's own thread may run beside them till then. */
static void wait_until_told(const char *part, char *ret, size_t size) {
    ret[0] = '\0';
    for (int i = 0; i < 1000 && strstr(ret, part) == NULL; i++, (void)poll(NULL, 0, 10))
        thread_states(getpid(), ret, size);
    ASSERT_CONTAINS(ret, part);
}

static void end(pid_t pid) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void each_process_below_is_told_with_its_threads(void) {
    char text[512];
    char expected[64];
    int ready;
    pid_t one = start("one", &ready);
    pid_t other = start("other", &ready);
    (void)snprintf(expected, sizeof(expected), "pid %d one: 1 S", (int)one);
    wait_until_told(expected, text, sizeof(text));
    (void)snprintf(expected, sizeof(expected), "pid %d other: 1 S", (int)other);
    wait_until_told(expected, text, sizeof(text));
    ASSERT_CONTAINS(text, "; pid ");
    thread_states(one, text, sizeof(text)); /* it has none below */
    CU_ASSERT_STRING_EQUAL(text, "");
    end(one);
    end(other);
}

/* A name may hold what it likes. */
static void hostile_names_become_valid_and_room_is_kept(void) {
    char text[32];
    char all[512];
    int ready;
    pid_t child = start("a) R\n\x83\x1b[0m", &ready);
    wait_until_told("a) R?\xef\xbf\xbd?[0m: 1 S", all, sizeof(all));
    CU_ASSERT_PTR_NULL(strchr(all, '\n'));
    thread_states(getpid(), text, sizeof(text));
    CU_ASSERT(strlen(text) < sizeof(text));
    CU_ASSERT_EQUAL(strncmp(text, "pid ", 4), 0);
    end(child);
}

UNIT_SUITE("host.thread_states", UNIT(each_process_below_is_told_with_its_threads),
           UNIT(hostile_names_become_valid_and_room_is_kept))
