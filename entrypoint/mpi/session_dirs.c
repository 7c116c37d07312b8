#include "entrypoint/mpi/session_dirs.h"

#include "entrypoint/os/runtime_dirs.h"

#include <stdio.h>
#include <unistd.h>

static const char memory[] = "/dev/shm";

int session_dirs_open(struct session_dirs *s, const struct control_socket *local, const char *run,
                      unsigned attempt, struct error *err) {
    if (s->temporary[0] != '\0')
        return 0;
    control_socket_file(local, "tmp", s->temporary);
    if (access(memory, W_OK) == 0)
        (void)snprintf(s->shared, sizeof(s->shared), "%s/" RUNTIME_DIRS_PREFIX "%s-%u", memory, run,
                       attempt);
    s->temporary_lock = runtime_dirs_make(s->temporary, err);
    s->shared_lock = -1;
    if (s->temporary_lock >= 0 && s->shared[0] != '\0')
        s->shared_lock = runtime_dirs_make(s->shared, err);
    if (s->temporary_lock >= 0 && (s->shared_lock >= 0 || s->shared[0] == '\0'))
        return 0;
    session_dirs_close(s);
    return -1;
}

void session_dirs_close(struct session_dirs *s) {
    if (s->temporary[0] != '\0')
        runtime_dirs_remove(s->temporary, s->temporary_lock);
    if (s->shared[0] != '\0')
        runtime_dirs_remove(s->shared, s->shared_lock);
    *s = (struct session_dirs){0};
}
