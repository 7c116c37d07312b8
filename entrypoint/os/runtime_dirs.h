/* Runtime directories in places that outlive the process (/run, /dev/shm, /tmp).
 *
 * The process that creates one holds a lock on it. After a SIGKILL the next start finds it unlocked
 * and removes it.
 *
 * Names begin with RUNTIME_DIRS_PREFIX. Only directories of the same user with mode 0700 are
 * touched, through descriptors and without following links. */
#ifndef ENTRYPOINT_OS_RUNTIME_DIRS_H
#define ENTRYPOINT_OS_RUNTIME_DIRS_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

#define RUNTIME_DIRS_PREFIX "ringmaster-run-"

/* Makes the folder PATH, or takes an existing one that belongs to this user, and locks it; other
 * processes may hold the lock, too. Returns the descriptor that holds the lock, or -1. */
int runtime_dirs_make(const char *path, struct error *err);

/* The same for a new one: PATH ends in XXXXXX, which is filled in. */
int runtime_dirs_make_new(char *path, struct error *err);

/* PATH still leads to the folder that LOCK holds. */
bool runtime_dirs_is_there(const char *path, int lock);

/* Lets go of it, and removes it with all that is in it unless another process holds it, too. Closes
 * LOCK; -1 is fine. */
void runtime_dirs_remove(const char *path, int lock);

/* Removes the folders in PLACE that no process holds; returns how many. */
size_t runtime_dirs_sweep(const char *place);

/* The same for all COUNT places in a child that is not waited for: removing may take long. */
void runtime_dirs_sweep_apart(const char *const *places, size_t count);

#endif
