/* Sealed memory that is handed to a child and that no process can change any more.
 *
 * It holds what must not appear in a command line or an environment. */
#ifndef COMMON_SYSTEM_SEALED_MEMFD_H
#define COMMON_SYSTEM_SEALED_MEMFD_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns a close-on-exec descriptor of new memory with these bytes, or -1. NAME appears only in
 * /proc. */
int sealed_memfd_make(const char *name, const void *bytes, size_t size, struct error *err);

/* Returns true if FD is such memory, whichever process made it. */
bool sealed_memfd_is(int fd);

#endif
