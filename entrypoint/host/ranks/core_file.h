/* Place of a rank's core file, in words for the failure file.
 *
 * The kernel writes such a file for a process that certain signals end. */
#ifndef ENTRYPOINT_HOST_RANKS_CORE_FILE_H
#define ENTRYPOINT_HOST_RANKS_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the kernel may write a core file for the signal NUMBER. */
bool core_file_is_due(int number);

/* Writes a sentence to RET from PATTERN, the content of /proc/sys/kernel/core_pattern, and from
 * whether the limit of core files (ulimit -c) is 0. */
void core_file_words(const char *pattern, bool limited, char *ret, size_t size);

/* The same for this host. "" if the pattern cannot be read. */
void core_file_here(char *ret, size_t size);

#endif
