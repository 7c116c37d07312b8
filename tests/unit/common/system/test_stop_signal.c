#include "common/system/stop_signal.h"

#include "tests/support/unit.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_readable(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void a_signal_asks_and_does_not_end_the_process(void) {
    CU_ASSERT_EQUAL(stop_signal_listen(NULL), 0);
    CU_ASSERT_FALSE(stop_signal_requested());
    CU_ASSERT_FALSE(is_readable(stop_signal_descriptor()));
    CU_ASSERT_EQUAL(raise(SIGTERM), 0);
    CU_ASSERT(stop_signal_requested());
    CU_ASSERT(is_readable(stop_signal_descriptor()));
    CU_ASSERT_EQUAL(raise(SIGINT), 0);
    CU_ASSERT(stop_signal_requested());
}

enum { ALIVE = 7 };

static const char words[] = "stopping";

static int after_signals(int first, int second) {
    (void)raise(first);
    if (second != 0)
        (void)raise(second);
    return stop_signal_requested() ? ALIVE : 0;
}

static int answers(void) {
    stop_signal_answer(words);
    /* The second comes at once: a process that forwards a signal to a group sends it twice. */
    return after_signals(SIGINT, SIGINT);
}

static int leaves(void) {
    stop_signal_answer_and_leave(words);
    return after_signals(SIGTERM, 0);
}

static int changes_its_mind(void) {
    stop_signal_answer_and_leave("wrong");
    stop_signal_answer(words);
    return after_signals(SIGTERM, SIGTERM);
}

/* How a child ends that has not been asked to stop, and what it says. */
static int child(int (*body)(void), char text[64]) {
    int ends[2], status = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    CU_ASSERT_FATAL(pid >= 0);
    if (pid == 0) {
        if (dup2(ends[1], STDERR_FILENO) < 0 || close(ends[0]) != 0 || close(ends[1]) != 0 ||
            stop_signal_listen(NULL) != 0)
            _exit(1);
        _exit(body());
    }
    (void)close(ends[1]);
    ssize_t size = read(ends[0], text, 63);
    text[size > 0 ? size : 0] = '\0';
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void who_is_asked_by_a_person_answers(void) {
    char text[64];
    CU_ASSERT_EQUAL(child(answers, text), ALIVE);
    CU_ASSERT_STRING_EQUAL(text, "stopping\n");
    CU_ASSERT_EQUAL(child(leaves, text), EXIT_CODE_STOPPED);
    CU_ASSERT_STRING_EQUAL(text, "stopping\n");
    CU_ASSERT_EQUAL(child(changes_its_mind, text), ALIVE);
    CU_ASSERT_STRING_EQUAL(text, "stopping\n");
}

UNIT_SUITE("common.stop_signal", UNIT(who_is_asked_by_a_person_answers),
           UNIT(a_signal_asks_and_does_not_end_the_process))
