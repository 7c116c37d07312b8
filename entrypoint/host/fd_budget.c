#include "entrypoint/host/fd_budget.h"

#include "entrypoint/os/fd_limits.h"
#include "entrypoint/wire/listener.h"

#include <sys/resource.h>

enum {
    FILES_AT_LEAST = 128, /* libraries, streams and our own sockets */
    FILES_LISTENERS = 2,  /* each listener with its minimum of pending connections and a spare */
    FILES_PENDING = 64,   /* pending connections of a listener beyond that */
    FILES_A_HOST = 2,     /* at the master: its link, and its agent's socket */
    FILES_A_SLOT = 8,     /* a shim's socket and two pipes; mpirun's pipes and sockets */
};

uint64_t fd_budget_files(const struct cluster *cluster) {
    uint64_t hosts = cluster_is_master(cluster) ? cluster->count : 1;
    return FILES_AT_LEAST + FILES_LISTENERS * (LISTENER_PENDING_LEAST + 1) + FILES_A_HOST * hosts +
           FILES_A_SLOT * (uint64_t)cluster->hosts[cluster->self].slots;
}

int fd_budget_raise(const struct cluster *cluster, struct error *err) {
    struct rlimit locked;
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {
        locked.rlim_cur = locked.rlim_max;
        (void)setrlimit(RLIMIT_MEMLOCK, &locked); /* never above the hard limit */
    }
    return fd_limits_raise(fd_budget_files(cluster), (uint64_t)FILES_LISTENERS * FILES_PENDING,
                           err);
}

size_t fd_budget_pending(const struct cluster *cluster) {
    return LISTENER_PENDING_LEAST + fd_limits_spare(fd_budget_files(cluster)) / FILES_LISTENERS;
}
