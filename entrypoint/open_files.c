#include "entrypoint/open_files.h"

#include "entrypoint/door.h"

#include <inttypes.h>
#include <sys/resource.h>

enum {
    FILES_AT_LEAST = 128, /* libraries, streams, sockets of our own */
    FILES_DOORS = 2,      /* each with its fewest guests and a spare */
    FILES_GUESTS = 64,    /* what a door likes to have beyond that */
    FILES_A_HOST = 2,     /* at the master: its link, and its agent's socket */
    FILES_A_SLOT = 8,     /* a shim's socket and two pipes; mpirun's pipes and sockets */
};

static uint64_t before_raise;

uint64_t open_files_needed(const struct cluster *cluster) {
    uint64_t hosts = cluster_is_master(cluster) ? cluster->count : 1;
    return FILES_AT_LEAST + FILES_DOORS * (DOOR_GUESTS_LEAST + 1) + FILES_A_HOST * hosts +
           FILES_A_SLOT * (uint64_t)cluster->hosts[cluster->self].slots;
}

int open_files_raise(uint64_t needed, struct error *err) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the limit of open files");
    uint64_t wanted = needed + FILES_DOORS * FILES_GUESTS;
    if (wanted > limit.rlim_max)
        wanted = limit.rlim_max;
    if (limit.rlim_cur >= wanted && limit.rlim_cur >= needed)
        return 0;
    if (limit.rlim_max < needed)
        return error_set(err, EXIT_CODE_CONFIG,
                         "a job of this size needs %" PRIu64 " open files on this host, and the "
                         "hard limit (ulimit -H -n) is %" PRIu64
                         "; raise it, with Docker by --ulimit nofile=%" PRIu64,
                         needed, (uint64_t)limit.rlim_max, needed);
    before_raise = limit.rlim_cur;
    limit.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "raising the limit of open files");
    return 0;
}

uint64_t open_files_guests(uint64_t needed) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= needed)
        return DOOR_GUESTS_LEAST;
    return DOOR_GUESTS_LEAST + (limit.rlim_cur - needed) / FILES_DOORS;
}

uint64_t open_files_before(void) {
    return before_raise;
}

void open_files_restore(uint64_t before) {
    struct rlimit limit;
    if (before == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = before < limit.rlim_max ? before : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}
