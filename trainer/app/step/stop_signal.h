/* The wish to stop: SIGTERM or SIGINT sets a flag that the loops look at. The first signal asks,
 * and training ends with a checkpoint after the step it is in; signals after it change nothing,
 * but where somebody sits in front of the process (stop_signal_answer). */
#ifndef TRAINER_APP_STEP_STOP_SIGNAL_H
#define TRAINER_APP_STEP_STOP_SIGNAL_H

#include "common/error.h"

#include <stdbool.h>

int stop_signal_listen(struct error *err);
bool stop_signal_requested(void);
/* Readable once a stop is asked for, for waits on descriptors; -1 before stop_signal_listen. */
int stop_signal_descriptor(void);

/* For a process that no launcher runs. From here on the first signal is answered with WORDS, which
 * stay where they are, on stderr at once, and a SIGINT after it ends the process as it would
 * without us: by the signal. */
void stop_signal_answer(const char *words);
/* The same while there is nothing to save: the first signal ends the process, with
 * EXIT_CODE_STOPPED. */
void stop_signal_answer_and_leave(const char *words);

#endif
