#include "common/system/stop_signal.h"

#include "common/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

/* A launcher that forwards a signal to a process and to its group sends it twice: count these as
 * one. */
static const int64_t ECHO = CLOCK_SECOND * 3 / 10;

static volatile sig_atomic_t requested;
static volatile sig_atomic_t descriptor = -1;

/* message printed for the first signal; NULL: none */
static const char *volatile answer;
static volatile sig_atomic_t leaves;
static volatile int64_t asked_at; /* time of the first signal */

/* From here on only functions that a signal handler may call. */
static void answer_first(void) {
    const char *words = answer;
    if (words == NULL)
        return;
    /* On a terminal, overwrite the status line and the ^C. */
    const char *before = isatty(STDERR_FILENO) ? "\r\033[K" : "";
    const struct iovec line[] = {
        {(void *)before, strlen(before)}, {(void *)words, strlen(words)}, {(void *)"\n", 1}};
    ssize_t written = writev(STDERR_FILENO, line, sizeof(line) / sizeof(line[0]));
    (void)written; /* nothing to do if it fails */
    if (leaves)
        _exit(EXIT_CODE_STOPPED);
}

static void answer_again(int number) {
    if (answer == NULL || number != SIGINT || clock_now() - asked_at < ECHO)
        return;
    (void)signal(SIGINT, SIG_DFL);
    (void)raise(SIGINT); /* delivered once this handler has returned */
}

static void on_signal(int number) {
    const uint64_t one = 1;
    int saved = errno;
    if (requested) {
        answer_again(number);
    } else {
        asked_at = clock_now();
        requested = 1;
        ssize_t written = write(descriptor, &one, sizeof(one));
        (void)written; /* a full counter is readable as well */
        answer_first();
    }
    errno = saved;
}

int stop_signal_listen(struct error *err) {
    struct sigaction action;
    if (descriptor < 0)
        descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "listening for a stop");
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    /* Reads and writes of ours continue; loops notice the request at their next check. */
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "listening for a stop");
    return 0;
}

bool stop_signal_requested(void) {
    return requested != 0;
}

int stop_signal_descriptor(void) {
    return descriptor;
}

void stop_signal_answer(const char *words) {
    leaves = 0;
    answer = words;
}

void stop_signal_answer_and_leave(const char *words) {
    answer = words;
    leaves = 1;
}
