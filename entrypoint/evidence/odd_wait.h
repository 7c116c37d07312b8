/* The one rank of an idle job that waits elsewhere.
 *
 * Ranks of a collective wait in the same place. One that has not entered it, because it sleeps,
 * reads a file or is in another collective, waits in another one. Only the names of the kernel's
 * waits are compared (proc_pid_wchan(5)), each once: how many threads a rank has, and which system
 * call each of them is in, differs between ranks that do the same. */
#ifndef ENTRYPOINT_EVIDENCE_ODD_WAIT_H
#define ENTRYPOINT_EVIDENCE_ODD_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* STATES: texts of thread_states() of COUNT ranks; those with ENDED are left out, and NULL or "" is
 * unknown. Returns the only rank that waits differently from all others, which are the same,
 * and in *RET_OTHER one of the others; -1 if there is no such rank, or fewer than two others. */
int64_t odd_wait(const char *const *states, const bool *ended, size_t count, int64_t *ret_other);

#endif
