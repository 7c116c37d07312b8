/* Signals that are passed on to the user's programs: SIGUSR1, SIGUSR2, SIGQUIT, SIGALRM, SIGCONT.
 *
 * They mean nothing to the launcher, and are passed on as an init process does (tini, dumb-init).
 * Each goes to the program alone, not to its process group: a handler that saves a checkpoint
 * belongs to the program, and processes without a handler would die. SIGWINCH is not passed on:
 * programs write to pipes, and a terminal sends it whenever its size changes. */
#ifndef ENTRYPOINT_OS_USER_SIGNALS_H
#define ENTRYPOINT_OS_USER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Adds them to SET. */
void user_signals_add(sigset_t *set);
/* Sets *RET to all signals that a supervisor and a shim handle: these, the requests to stop
 * (SIGTERM, SIGINT, SIGHUP) and SIGCHLD. */
void user_signals_handled(sigset_t *ret);
bool user_signals_has(int number);

#endif
