/* Control socket of a supervisor: a unix socket for the processes of this container.
 *
 * It lies in a fresh directory that only its user may enter; RINGMASTER_SOCKET holds its path. The
 * directory also keeps the files that supervisor, shims and mpirun share and Open MPI's temporary
 * files, so that none is left behind. */
#ifndef ENTRYPOINT_WIRE_CONTROL_SOCKET_H
#define ENTRYPOINT_WIRE_CONTROL_SOCKET_H

#include "common/error.h"
#include "entrypoint/os/loop.h"
#include "entrypoint/wire/listener.h"

#include <sys/types.h>

#define CONTROL_SOCKET_VARIABLE "RINGMASTER_SOCKET"

enum { CONTROL_SOCKET_PATH_SIZE = 80 }; /* with the names in it below sun_path's 108 */

struct control_socket {
    char folder[CONTROL_SOCKET_PATH_SIZE]; /* "": not open */
    int lock;                              /* on the directory (os/runtime_dirs.h) */
    char socket[CONTROL_SOCKET_PATH_SIZE + 16];
    dev_t device; /* device and inode of the socket's file */
    ino_t number;
    struct listener listener;
};

/* Candidates for the directory: RUN alone if it is not NULL, else /run, /dev/shm and /tmp. The
 * first one in memory with CONTROL_SOCKET_ROOM bytes left is taken, as its content is useless after
 * this process and should not wait for a disk; else the first one on a disk. */
enum { CONTROL_SOCKET_ROOM = 16 * 1024 * 1024, CONTROL_SOCKET_PLACES_MAX = 3 };
size_t control_socket_places(const char *run, const char *ret[CONTROL_SOCKET_PLACES_MAX]);

/* Creates directory and socket in the first suitable place. */
int control_socket_open(struct control_socket *l, struct loop *loop, const char *run,
                        const struct listener_events *events, void *context, struct error *err);
/* Recreates, under the same names, whatever of the two a program has removed. Pending connections
 * are closed then; accepted links stay. */
int control_socket_renew(struct control_socket *l, struct error *err);
/* Removes the directory with everything in it. */
void control_socket_close(struct control_socket *l);

/* Writes "FOLDER/NAME" to PATH. */
enum { CONTROL_SOCKET_FILE_SIZE = 256 };
void control_socket_file(const struct control_socket *l, const char *name,
                         char path[CONTROL_SOCKET_FILE_SIZE]);

/* Client side: returns a connected blocking socket, or -1. PATH is the value of RINGMASTER_SOCKET;
 * NULL is an error. */
int control_socket_connect(const char *path, struct error *err);

#endif
