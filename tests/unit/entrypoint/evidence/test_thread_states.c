#include "entrypoint/evidence/thread_states.h"

#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that has stopped under a name, with all its threads: a sanitizer has one of its own. */
static pid_t start(const char *name) {
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_NAME, name);
        (void)raise(SIGSTOP);
        _exit(1);
    }
    CU_ASSERT_EQUAL_FATAL(waitpid(pid, NULL, WUNTRACED), pid);
    return pid;
}

static void end(pid_t pid) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void each_process_below_is_reported_with_its_threads(void) {
    char text[512];
    char expected[64];
    pid_t one = start("one");
    pid_t other = start("other");
    thread_states(getpid(), text, sizeof(text));
    (void)snprintf(expected, sizeof(expected), "pid %d one: 1 T", (int)one);
    ASSERT_CONTAINS(text, expected);
    (void)snprintf(expected, sizeof(expected), "pid %d other: 1 T", (int)other);
    ASSERT_CONTAINS(text, expected);
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
    pid_t child = start("a) R\n\x83\x1b[0m");
    thread_states(getpid(), all, sizeof(all));
    ASSERT_CONTAINS(all, "a) R?\xef\xbf\xbd?[0m: 1 T");
    CU_ASSERT_PTR_NULL(strchr(all, '\n'));
    thread_states(getpid(), text, sizeof(text));
    CU_ASSERT(strlen(text) < sizeof(text));
    CU_ASSERT_EQUAL(strncmp(text, "pid ", 4), 0);
    end(child);
}

static void the_main_thread_is_described(void) {
    char text[64];
    pid_t child = start("one");
    thread_states_main(getpid(), text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "stopped by a signal");
    end(child);
    thread_states_main(getpid(), text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "");
}

UNIT_SUITE("evidence.thread_states", UNIT(each_process_below_is_reported_with_its_threads),
           UNIT(hostile_names_become_valid_and_room_is_kept), UNIT(the_main_thread_is_described))
