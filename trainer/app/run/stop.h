/* The wish to stop: SIGTERM or SIGINT sets a flag that the loops look at. The first signal asks,
 * and training ends with a checkpoint after the step it is in; signals after it change nothing. */
#ifndef RUN_STOP_H
#define RUN_STOP_H

#include "common/error.h"

#include <stdbool.h>

int stop_listen(struct error *err);
bool stop_requested(void);
/* Readable once a stop is asked for, for waits on descriptors; -1 before stop_listen. */
int stop_descriptor(void);

#endif
