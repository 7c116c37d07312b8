/* Libraries that an ELF program needs (DT_NEEDED).
 *
 * `readelf -d` shows the same.
 *
 * Only the program itself is read, not the libraries that it names. A file that is no ELF program
 * of this machine's word size and byte order, is damaged, or cannot be read, names none. At most
 * NEEDED_LIBRARIES_MAX names are looked at. Source: the System V ABI, chapter 5. */
#ifndef ENTRYPOINT_JOB_NEEDED_LIBRARIES_H
#define ENTRYPOINT_JOB_NEEDED_LIBRARIES_H

#include <stdbool.h>

enum { NEEDED_LIBRARIES_MAX = 1024, NEEDED_LIBRARY_SIZE = 128 };

/* Finds the first needed library of the program at PATH for which WANTS returns true. Returns false
 * if there is none; RET is "" then. */
bool needed_libraries_find(const char *path, bool (*wants)(const char *library),
                           char ret[NEEDED_LIBRARY_SIZE]);

#endif
