/* Sealed memory that is handed to a child and that no process can change any more.
 *
 * It holds what must not appear in a command line or an environment. */
#ifndef COMMON_SEALED_MEMFD_H
#define COMMON_SEALED_MEMFD_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A descriptor, close-on-exec, with these bytes; -1 on failure. NAME is for /proc alone. */
int sealed_memfd_make(const char *name, const void *bytes, size_t size, struct error *err);

/* Returns true if FD is such memory, from any process. */
bool sealed_memfd_is(int fd);

#endif
