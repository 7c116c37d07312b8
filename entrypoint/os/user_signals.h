/* Signals that mean nothing to this program and may mean something to the user's: SIGUSR1, SIGUSR2,
 * SIGQUIT, SIGALRM and SIGCONT. They are passed on as an init process does (tini, dumb-init), and
 * to the program itself alone, not to its group: a handler that saves a checkpoint belongs to the
 * program, and processes without one would die. SIGWINCH is not among them: programs write to
 * pipes, and a terminal sends it at each change of its size. */
#ifndef ENTRYPOINT_OS_USER_SIGNALS_H
#define ENTRYPOINT_OS_USER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Adds them to SET. */
void user_signals_add(sigset_t *set);
bool user_signals_has(int number);

#endif
