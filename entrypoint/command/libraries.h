/* Versions of libraries that programs of a job may load, for failure reports. None is loaded here:
 * they are read from file names and the distribution's list of packages. */
#ifndef ENTRYPOINT_COMMAND_LIBRARIES_H
#define ENTRYPOINT_COMMAND_LIBRARIES_H

#include <stddef.h>

enum { LIBRARIES_VERSION_SIZE = 96 };

/* "CUDA runtime", "NCCL", "UCX"; NULL after the last. */
const char *libraries_name(size_t index);

/* Writes the version of the library with that INDEX in the directories of LD_LIBRARY_PATH in
 * ENVIRONMENT and the usual ones; "" if it is not there. ROOT is put before them: "" except in
 * tests. */
void libraries_version(size_t index, const char *root, char *const *environment,
                       char ret[LIBRARIES_VERSION_SIZE]);

#endif
