/* The limit of open descriptors (RLIMIT_NOFILE). A job of several hundred hosts needs more of them
 * in its first processes, and in mpirun, than the usual 1,024; programs get back what they would
 * have had, because some stop at select()'s 1,024 or close all descriptors up to the limit. */
#ifndef ENTRYPOINT_OPEN_FILES_H
#define ENTRYPOINT_OPEN_FILES_H

#include "common/error.h"
#include "entrypoint/cluster.h"

#include <stdint.h>

/* What this host's ringmaster and mpirun need at most, each for itself, with the fewest guests at
 * both doors. */
uint64_t open_files_needed(const struct cluster *cluster);

/* Raises the soft limit of this process and its children where it is lower to NEEDED and what
 * guests like to have, or as near as the hard limit lets it; a hard limit below NEEDED is an error
 * that names both numbers. */
int open_files_raise(uint64_t needed, struct error *err);

/* How many guests each of the two doors may have, so that the others find NEEDED descriptors. */
uint64_t open_files_guests(uint64_t needed);

/* The soft limit as it was before it was raised; 0 if it was not. */
uint64_t open_files_before(void);

/* For a child between fork and exec: sets the soft limit to BEFORE; 0 changes nothing. */
void open_files_restore(uint64_t before);

#endif
