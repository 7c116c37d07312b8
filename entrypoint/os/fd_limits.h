/* Limit of open descriptors (RLIMIT_NOFILE).
 *
 * It is raised for the launcher and restored for programs.
 *
 * In a job of several hundred hosts, the first processes and mpirun need more than the usual 1,024
 * descriptors. Programs get back the limit that they would have had, because some stop at
 * select()'s 1,024 or close all descriptors up to the limit. */
#ifndef ENTRYPOINT_OS_FD_LIMITS_H
#define ENTRYPOINT_OS_FD_LIMITS_H

#include "common/error.h"

#include <stdint.h>

/* Raises the soft limit of this process and its children where it is lower to NEEDED and MORE, or
 * as near as the hard limit lets it; a hard limit below NEEDED is an error that names both numbers.
 */
int fd_limits_raise(uint64_t needed, uint64_t more, struct error *err);

/* How many the soft limit leaves beyond NEEDED. */
uint64_t fd_limits_spare(uint64_t needed);

/* The soft limit as it was before it was raised; 0 if it was not. */
uint64_t fd_limits_before(void);

/* For a child between fork and exec: sets the soft limit to BEFORE; 0 changes nothing. */
void fd_limits_restore(uint64_t before);

#endif
