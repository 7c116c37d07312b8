#include "entrypoint/os/user_signals.h"

#include <stddef.h>

/* The one list from which masks and questions are made. A supervisor and a shim block them all and
 * read them as events of their loops, so that no handler runs in the middle of other work. */
static const int numbers[] = {SIGUSR1, SIGUSR2, SIGQUIT, SIGALRM, SIGCONT};
enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };

/* sigaddset() can fail only for a number that is no signal, so its result is ignored. */
void user_signals_add(sigset_t *set) {
    for (size_t i = 0; i < COUNT; i++)
        (void)sigaddset(set, numbers[i]);
}

void user_signals_handled(sigset_t *ret) {
    /* SIGCHLD tells of ended children; the others ask this process to stop. */
    static const int own[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    (void)sigemptyset(ret);
    user_signals_add(ret);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        (void)sigaddset(ret, own[i]);
}

bool user_signals_has(int number) {
    for (size_t i = 0; i < COUNT; i++)
        if (numbers[i] == number)
            return true;
    return false;
}
