/* Dry run by `ringmaster plan`: what would run here, as JSON, without running it or talking to
 * anybody. No secret values. */
#ifndef ENTRYPOINT_COMMAND_PLAN_H
#define ENTRYPOINT_COMMAND_PLAN_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/job/job.h"
#include "entrypoint/mpi/openmpi.h"

/* REQUEST is what mpirun would be started with; NULL where that could not be found out (no mpirun,
 * no network), which the plan then shows as null. ENVIRONMENT is this container's own. */
int plan_print(const struct job *job, const struct openmpi_request *request,
               char *const *environment, struct buf *ret, struct error *err);

/* The command. WORDS are those after its name. Returns the exit code, or -1. */
int plan_run(const char *const *words, struct error *err);

#endif
