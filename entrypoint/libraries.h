/* Versions of libraries that programs of a job may load, for reports of what went wrong. None is
 * loaded here: names of files and the distribution's list of packages tell what they can. */
#ifndef ENTRYPOINT_LIBRARIES_H
#define ENTRYPOINT_LIBRARIES_H

#include <stddef.h>

enum { LIBRARIES_VERSION_SIZE = 96 };

/* "CUDA runtime", "NCCL", "UCX"; NULL behind the last. */
const char *libraries_name(size_t index);

/* Of the one with that INDEX, in the folders of LD_LIBRARY_PATH in ENVIRONMENT and the usual ones;
 * "" where it is not there. ROOT is put in front of them: "" but in tests. */
void libraries_version(size_t index, const char *root, char *const *environment,
                       char ret[LIBRARIES_VERSION_SIZE]);

#endif
