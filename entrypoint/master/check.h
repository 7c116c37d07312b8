/* `ringmaster check`: all hosts join as for a job, and look at themselves and at each other
 * (preflight.h); then, instead of a launch, the master prints rows of what each of them has and
 * marks what will hurt. */
#ifndef ENTRYPOINT_MASTER_CHECK_H
#define ENTRYPOINT_MASTER_CHECK_H

#include "common/error.h"
#include "entrypoint/master/state.h"

/* Prints them, as one JSON object where m->json, and sets the verdict: that of the first row that
 * is bad, else that of a job that was none. */
int check_print(struct master *m, struct error *err);

#endif
