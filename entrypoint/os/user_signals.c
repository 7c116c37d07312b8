#include "entrypoint/os/user_signals.h"

#include <stddef.h>

static const int numbers[] = {SIGUSR1, SIGUSR2, SIGQUIT, SIGALRM, SIGCONT};
enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };

void user_signals_add(sigset_t *set) {
    for (size_t i = 0; i < COUNT; i++)
        (void)sigaddset(set, numbers[i]);
}

void user_signals_handled(sigset_t *ret) {
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
