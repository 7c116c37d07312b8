#include "entrypoint/wire/control_socket.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/os/run_as.h"
#include "entrypoint/os/runtime_dirs.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>

/* The folder has to be somewhere that every container has. It holds a socket and small files that
 * are useless after this process, so memory is preferred: a disk may be slow, full, or shared. Its
 * path goes to children as RINGMASTER_SOCKET. */

/* 2: in memory; 1: on disk; 0: full, or not there. A memory file system without a limit reports no
 * blocks at all. */
static int rank_place(const char *place) {
    struct statfs fs;
    if (statfs(place, &fs) != 0)
        return 0;
    if (fs.f_blocks > 0 && (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize < CONTROL_SOCKET_ROOM)
        return 0;
    return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ? 2 : 1;
}

/* The usual places are sorted by rank and keep their order within one; RUN is taken whatever it is,
 * as a user has chosen it. Full places come last: a job without room there may still run. */
size_t control_socket_places(const char *run, const char *ret[CONTROL_SOCKET_PLACES_MAX]) {
    static const char *const usual[CONTROL_SOCKET_PLACES_MAX] = {"/run", "/dev/shm", "/tmp"};
    size_t count = 0;
    if (run != NULL) {
        ret[0] = run;
        return 1;
    }
    for (int rank = 2; rank >= 0; rank--)
        for (size_t i = 0; i < CONTROL_SOCKET_PLACES_MAX; i++)
            if (rank_place(usual[i]) == rank)
                ret[count++] = usual[i];
    return count;
}

/* The directory's name is new each time, so supervisors of one machine do not meet. On failure
 * FOLDER is "" and nothing has to be removed. */
static int make_folder(struct control_socket *l, const char *place, struct error *err) {
    int size = snprintf(l->folder, sizeof(l->folder), "%s/" RUNTIME_DIRS_PREFIX "XXXXXX", place);
    if (size >= (int)sizeof(l->folder))
        (void)error_set(err, EXIT_CODE_CONFIG, "%s: the path is too long", place);
    else
        l->lock = runtime_dirs_make_new(l->folder, err);
    if (l->lock >= 0)
        return 0;
    l->folder[0] = '\0';
    return error_wrap(err, "no directory for sockets (RINGMASTER_RUN)");
}

/* The socket's file belongs to the user that programs run as, if there is one (run_as.h). Device
 * and inode are kept, by which has_socket() tells this file from another of the same name.
 * SOMAXCONN, because all ranks of a host connect at once. */
static int listen_at(struct control_socket *l, struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(l->socket, sizeof(l->socket), "%s/socket", l->folder);
    memcpy(address.sun_path, l->socket, strlen(l->socket));
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, SOMAXCONN) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", l->socket);
    struct stat st;
    if (run_as_give(l->socket, err) != 0)
        return -1;
    if (lstat(l->socket, &st) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", l->socket);
    l->device = st.st_dev;
    l->number = st.st_ino;
    return take_fd(&fd);
}

/* Places are tried in turn: one may be read-only, or refuse sockets. The error is that of the last
 * place. Everything of a failed place is removed before the next one is tried. */
int control_socket_open(struct control_socket *l, struct loop *loop, const char *run,
                        const struct listener_events *events, void *context, struct error *err) {
    const char *places[CONTROL_SOCKET_PLACES_MAX];
    size_t count = control_socket_places(run, places);
    int listener = -1;
    struct error why = {0}; /* the last place was unsuitable */
    *l = (struct control_socket){.lock = -1, .listener = {.watch = {.fd = -1}}};
    for (size_t i = 0; i < count && listener < 0; i++) {
        control_socket_close(l);
        listener = make_folder(l, places[i], &why) == 0 ? listen_at(l, &why) : -1;
    }
    if (listener < 0 && err != NULL)
        *err = why;
    if (listener >= 0 &&
        listener_open(&l->listener, loop, listener, NULL, events, context, err) == 0)
        return 0;
    control_socket_close(l);
    return -1;
}

/* The directory named by RINGMASTER_RUN may be gone, too, so all parents are made. The lock of the
 * new directory replaces the one of the old, which no process can find any more. */
static int renew_folder(struct control_socket *l, struct error *err) {
    char place[CONTROL_SOCKET_PATH_SIZE];
    if (runtime_dirs_is_there(l->folder, l->lock))
        return 0;
    (void)snprintf(place, sizeof(place), "%.*s", (int)(strrchr(l->folder, '/') - l->folder),
                   l->folder);
    if (file_make_dirs(place, err) != 0)
        return -1;
    int lock = runtime_dirs_make(l->folder, err);
    if (lock < 0)
        return -1;
    (void)close(l->lock);
    l->lock = lock;
    return 0;
}

/* A program that cleans /tmp may have removed the file, or another may have made its own. A file of
 * the same name with another inode is not ours to connect to. */
static bool has_socket(const struct control_socket *l) {
    struct stat st;
    return lstat(l->socket, &st) == 0 && st.st_dev == l->device && st.st_ino == l->number;
}

/* The old descriptor listens at a file that no process can reach any more. The new socket is made
 * before the old one is closed, so that a failure leaves things as they were. The number of pending
 * links that it allows is kept. */
static int renew_socket(struct control_socket *l, struct error *err) {
    const struct listener old = l->listener;
    if (has_socket(l))
        return 0;
    (void)unlink(l->socket);
    int listener = listen_at(l, err);
    if (listener < 0)
        return -1;
    listener_close(&l->listener);
    if (listener_open(&l->listener, old.loop, listener, NULL, old.events, old.context, err) != 0)
        return -1;
    listener_set_room(&l->listener, old.room);
    return 0;
}

/* Called before links for agents are made (entrypoint/host/mpi_setup.c), as these are of no use
 * without the socket. */
int control_socket_renew(struct control_socket *l, struct error *err) {
    if (renew_folder(l, err) == 0 && renew_socket(l, err) == 0)
        return 0;
    return error_wrap(
        err,
        "a program removed the directory for sockets (RINGMASTER_RUN), and it cannot be recreated");
}

/* Also for one that was opened only in part. runtime_dirs_remove() takes the lock over. */
void control_socket_close(struct control_socket *l) {
    listener_close(&l->listener);
    if (l->folder[0] != '\0')
        runtime_dirs_remove(l->folder, l->lock);
    l->folder[0] = '\0';
    l->lock = -1;
}

/* Names in the folder are those of the program itself and are short enough for PATH: the folder's
 * own path is limited so that they fit. */
void control_socket_file(const struct control_socket *l, const char *name,
                         char path[CONTROL_SOCKET_FILE_SIZE]) {
    (void)snprintf(path, CONTROL_SOCKET_FILE_SIZE, "%s/%s", l->folder, name);
}

/* Blocking, for shims and agents, which have nothing to do before they are connected. The length is
 * checked, as sun_path has no room for more. */
int control_socket_connect(const char *path, struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         CONTROL_SOCKET_VARIABLE
                         " is not set: this is started by ringmaster itself");
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, EXIT_CODE_USAGE, CONTROL_SOCKET_VARIABLE "=%s: the path is too long",
                         path);
    memcpy(address.sun_path, path, strlen(path));
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the supervisor at %s", path);
    return take_fd(&fd);
}
