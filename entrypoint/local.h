/* The door for this container's own processes: a unix socket in a fresh folder that none but their
 * user may enter, its path in RINGMASTER_SOCKET. The folder also keeps the files that supervisor,
 * shims and mpirun share, and Open MPI's own temporary ones, so that none is left behind. */
#ifndef ENTRYPOINT_LOCAL_H
#define ENTRYPOINT_LOCAL_H

#include "common/error.h"
#include "entrypoint/door.h"
#include "entrypoint/loop.h"

#define LOCAL_VARIABLE "RINGMASTER_SOCKET"

enum { LOCAL_PATH_SIZE = 80 }; /* with the names in it below sun_path's 108 */

struct local {
    char folder[LOCAL_PATH_SIZE]; /* "": not open */
    char socket[LOCAL_PATH_SIZE + 16];
    struct door door;
};

/* Makes folder and socket under RUN, else /run, else /tmp. */
int local_open(struct local *l, struct loop *loop, const char *run,
               const struct door_events *events, void *context, struct error *err);
/* Removes the folder with all that is in it. */
void local_close(struct local *l);

/* Writes "FOLDER/NAME" to PATH. */
enum { LOCAL_FILE_SIZE = 256 };
void local_file(const struct local *l, const char *name, char path[LOCAL_FILE_SIZE]);

/* The client's side: a connected blocking socket, or -1. PATH is RINGMASTER_SOCKET's value; NULL
 * is an error. */
int local_connect(const char *path, struct error *err);

#endif
