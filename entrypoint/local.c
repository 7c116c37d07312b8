#include "entrypoint/local.h"

#include "common/cleanup.h"
#include "common/file.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* mkdtemp makes it 0700. */
static int make_folder(struct local *l, const char *run, struct error *err) {
    const char *const places[] = {"/run", "/tmp"};
    for (size_t i = 0; i < (run != NULL ? 1 : sizeof(places) / sizeof(places[0])); i++) {
        const char *place = run != NULL ? run : places[i];
        int size = snprintf(l->folder, sizeof(l->folder), "%s/ringmaster-XXXXXX", place);
        if (size >= (int)sizeof(l->folder))
            return error_set(err, EXIT_CODE_CONFIG, "RINGMASTER_RUN=%s: too long a path", place);
        if (mkdtemp(l->folder) != NULL)
            return 0;
    }
    (void)error_set_errno(err, EXIT_CODE_CONFIG, "no folder for sockets (RINGMASTER_RUN): %s",
                          l->folder);
    l->folder[0] = '\0';
    return -1;
}

static int listen_at(struct local *l, struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(l->socket, sizeof(l->socket), "%s/socket", l->folder);
    memcpy(address.sun_path, l->socket, strlen(l->socket));
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, SOMAXCONN) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "%s", l->socket);
    return take_fd(&fd);
}

int local_open(struct local *l, struct loop *loop, const char *run,
               const struct door_events *events, void *context, struct error *err) {
    *l = (struct local){.door = {.watch = {.fd = -1}}};
    int listener = make_folder(l, run, err) == 0 ? listen_at(l, err) : -1;
    if (listener >= 0 && door_open(&l->door, loop, listener, NULL, events, context, err) == 0)
        return 0;
    local_close(l);
    return -1;
}

void local_close(struct local *l) {
    door_close(&l->door);
    if (l->folder[0] != '\0')
        file_remove_tree(l->folder);
    l->folder[0] = '\0';
}

void local_file(const struct local *l, const char *name, char path[LOCAL_FILE_SIZE]) {
    (void)snprintf(path, LOCAL_FILE_SIZE, "%s/%s", l->folder, name);
}

int local_connect(const char *path, struct error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         LOCAL_VARIABLE " is not set: this is started by ringmaster itself");
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, EXIT_CODE_USAGE, LOCAL_VARIABLE "=%s: too long a path", path);
    memcpy(address.sun_path, path, strlen(path));
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the supervisor at %s", path);
    return take_fd(&fd);
}
