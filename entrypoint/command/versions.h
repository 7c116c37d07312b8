/* Versions of all that a job depends on in this container: `ringmaster version`.
 *
 * `ringmaster version --all` is for reports of what went wrong. What is not there is listed as
 * missing. What fetches and uploads, a program of its own, is asked for its libraries. Libraries
 * that programs of a job may load are not loaded here: their versions are read from file names and
 * the distribution's list of packages. */
#ifndef ENTRYPOINT_COMMAND_VERSIONS_H
#define ENTRYPOINT_COMMAND_VERSIONS_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>

enum { VERSIONS_LIBRARY_SIZE = 96 };

/* The command. WORDS are those after its name. Returns the exit code, or -1. */
int versions_run(const char *const *words, struct error *err);

/* Appends "NAME  VERSION" lines. mpirun is asked, with a deadline. */
int versions_print(char *const *environment, struct buf *ret, struct error *err);

/* "CUDA runtime", "NCCL", "UCX"; NULL after the last. */
const char *versions_library(size_t index);

/* Writes the version of the library with that INDEX in the directories of LD_LIBRARY_PATH in
 * ENVIRONMENT and the usual ones; "" if it is not there. ROOT is put before them: "" except in
 * tests. */
void versions_of_library(size_t index, const char *root, char *const *environment,
                         char ret[VERSIONS_LIBRARY_SIZE]);

#endif
