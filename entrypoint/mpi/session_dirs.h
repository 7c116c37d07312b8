/* Directories that Open MPI needs for one attempt.
 *
 * There is a folder for temporary files below ours, and one for the memory that the ranks of a host
 * share. Killed daemons and ranks do not tidy
 * up, and /dev/shm is small, so both go with the attempt. */
#ifndef ENTRYPOINT_MPI_SESSION_DIRS_H
#define ENTRYPOINT_MPI_SESSION_DIRS_H

#include "common/error.h"
#include "entrypoint/wire/control_socket.h"

enum { SESSION_DIRS_PATH_SIZE = 64 };

struct session_dirs {
    char temporary[CONTROL_SOCKET_FILE_SIZE]; /* "": not open */
    char shared[SESSION_DIRS_PATH_SIZE]; /* the same on all hosts; "" where there is no /dev/shm */
    int temporary_lock;                  /* on the folders (os/runtime_dirs.h) */
    int shared_lock;
};

/* Makes both. Hosts that share one /dev/shm also share the folder in it, in which files have the
 * names of their hosts; the last to close removes it. Open already is fine. */
int session_dirs_open(struct session_dirs *s, const struct control_socket *local, const char *run,
                      unsigned attempt, struct error *err);
void session_dirs_close(struct session_dirs *s);

#endif
