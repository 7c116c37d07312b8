/* Stop requests by signal: SIGTERM or SIGINT sets a flag that the loops check. Training then ends
 * with a checkpoint after the present step. Later signals have no effect, unless a person runs the
 * process directly (stop_signal_answer). */
#ifndef COMMON_SYSTEM_STOP_SIGNAL_H
#define COMMON_SYSTEM_STOP_SIGNAL_H

#include "common/error.h"

#include <stdbool.h>

int stop_signal_listen(struct error *err);
bool stop_signal_requested(void);
/* Returns a descriptor that is readable once a stop is requested, for waits on descriptors; -1
 * before stop_signal_listen. */
int stop_signal_descriptor(void);

/* For a process that no launcher runs. From here on the first signal prints WORDS (not copied) on
 * stderr, and a later SIGINT kills the process as by default. */
void stop_signal_answer(const char *words);
/* For a phase with nothing to save: the first signal prints WORDS and ends the process with
 * EXIT_CODE_STOPPED. */
void stop_signal_answer_and_leave(const char *words);

#endif
