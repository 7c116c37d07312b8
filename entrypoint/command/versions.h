/* The versions of all that a job depends on in this container, for reports of what went wrong:
 * `ringmaster version --all`. What is not there is listed as missing, and
 * what fetches and uploads, a program of its own, is asked for its libraries. */
#ifndef ENTRYPOINT_COMMAND_VERSIONS_H
#define ENTRYPOINT_COMMAND_VERSIONS_H

#include "common/buf.h"
#include "common/error.h"

/* Appends "NAME  VERSION" lines. mpirun is asked, with a deadline. */
int versions_print(char *const *environment, struct buf *ret, struct error *err);

#endif
