/* The door for this container's own processes: a unix socket in a fresh folder that none but their
 * user may enter, its path in RINGMASTER_SOCKET. The folder also keeps the files that supervisor,
 * shims and mpirun share, and Open MPI's own temporary ones, so that none is left behind. */
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
    int lock;                              /* on the folder (os/runtime_dirs.h) */
    char socket[CONTROL_SOCKET_PATH_SIZE + 16];
    dev_t device; /* of the socket's file, and its number there */
    ino_t number;
    struct listener door;
};

/* Where folders of ours may lie: RUN alone where it is not NULL, else /run, /dev/shm or /tmp, the
 * first of them in memory that has CONTROL_SOCKET_ROOM left, since what lies there is of no use
 * after this process's end and nobody should wait for a disk because of it; else the first on a
 * disk. */
enum { CONTROL_SOCKET_ROOM = 16 * 1024 * 1024, CONTROL_SOCKET_PLACES_MAX = 3 };
size_t control_socket_places(const char *run, const char *ret[CONTROL_SOCKET_PLACES_MAX]);

/* Makes folder and socket in the first place that can hold them. */
int control_socket_open(struct control_socket *l, struct loop *loop, const char *run,
                        const struct listener_events *events, void *context, struct error *err);
/* Makes again, under the same names, what a program has removed of both. Guests are sent away
 * then; links that were taken stay. */
int control_socket_renew(struct control_socket *l, struct error *err);
/* Removes the folder with all that is in it. */
void control_socket_close(struct control_socket *l);

/* Writes "FOLDER/NAME" to PATH. */
enum { CONTROL_SOCKET_FILE_SIZE = 256 };
void control_socket_file(const struct control_socket *l, const char *name,
                         char path[CONTROL_SOCKET_FILE_SIZE]);

/* The client's side: a connected blocking socket, or -1. PATH is RINGMASTER_SOCKET's value; NULL
 * is an error. */
int control_socket_connect(const char *path, struct error *err);

#endif
