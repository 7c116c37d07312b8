/* User that the job's processes run as.
 *
 * That is the user of this process or, if root was given RINGMASTER_USER, another one. Open MPI's
 * programs, shims and the user's programs must all run as one user to talk to each other. This
 * process, which holds the key, keeps its own user. The choice holds for the whole process. */
#ifndef ENTRYPOINT_OS_RUN_AS_H
#define ENTRYPOINT_OS_RUN_AS_H

#include "common/argv.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* TEXT is a user's name, or numbers: UID or UID:GID; NULL or "" chooses no other user. One that is
 * not there, or that this process may not become, is an error. */
int run_as_choose(const char *text, struct error *err);

/* Returns true if UID is this process's own or the chosen one. */
bool run_as_is_ours(uid_t uid);

/* Gives PATH, of which this process has just made a file or folder, to the chosen user; links are
 * not followed. Does nothing if no user was chosen. */
int run_as_give(const char *path, struct error *err);
/* Gives those of the COUNT folders NAMES below BASE that exist to the chosen user, but not their
 * contents. */
int run_as_give_folders(const char *base, const char *const *names, size_t count,
                        struct error *err);

/* In a child, before exec: 0 or an errno. */
int run_as_become(void);

/* HOME, USER and LOGNAME of the chosen one. */
int run_as_add(struct argv *environment, struct error *err);

#endif
