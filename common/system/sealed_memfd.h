/* Sealed memory that is handed to another process.
 *
 * No process can change it any more. It holds what must not appear in a command line or an
 * environment, and what several processes map at once. */
#ifndef COMMON_SYSTEM_SEALED_MEMFD_H
#define COMMON_SYSTEM_SEALED_MEMFD_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns a close-on-exec descriptor of new, empty memory that is written and then sealed, or -1.
 * NAME appears in /proc and in errors. */
int sealed_memfd_open(const char *name, struct error *err);
/* Seals what has been written to FD. No descriptor can be used to write to it from then on. */
int sealed_memfd_seal(int fd, const char *name, struct error *err);

/* Returns the same with these bytes, sealed, or -1. */
int sealed_memfd_make(const char *name, const void *bytes, size_t size, struct error *err);

/* Returns the seals of FD (F_SEAL_...) without the one against execution, which depends on the
 * machine; -1 if FD cannot have any. */
int sealed_memfd_seals(int fd);
/* Returns true if FD is such memory, whichever process made it. */
bool sealed_memfd_is(int fd);

#endif
