#include "entrypoint/mpi/scratch.h"

#include "entrypoint/os/leftovers.h"

#include <stdio.h>
#include <unistd.h>

static const char memory[] = "/dev/shm";

int scratch_open(struct scratch *s, const struct local *local, const char *run, unsigned attempt,
                 struct error *err) {
    if (s->temporary[0] != '\0')
        return 0;
    local_file(local, "tmp", s->temporary);
    if (access(memory, W_OK) == 0)
        (void)snprintf(s->shared, sizeof(s->shared), "%s/" LEFTOVERS_PREFIX "%s-%u", memory, run,
                       attempt);
    s->temporary_lock = leftovers_make(s->temporary, err);
    s->shared_lock = -1;
    if (s->temporary_lock >= 0 && s->shared[0] != '\0')
        s->shared_lock = leftovers_make(s->shared, err);
    if (s->temporary_lock >= 0 && (s->shared_lock >= 0 || s->shared[0] == '\0'))
        return 0;
    scratch_close(s);
    return -1;
}

void scratch_close(struct scratch *s) {
    if (s->temporary[0] != '\0')
        leftovers_remove(s->temporary, s->temporary_lock);
    if (s->shared[0] != '\0')
        leftovers_remove(s->shared, s->shared_lock);
    *s = (struct scratch){0};
}
