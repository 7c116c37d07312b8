#include "entrypoint/os/fd_limits.h"

#include <inttypes.h>
#include <sys/resource.h>

static uint64_t before_raise;

int fd_limits_raise(uint64_t needed, uint64_t more, struct error *err) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the limit of open files");
    uint64_t wanted = needed + more;
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
    if (before_raise == 0)
        before_raise = limit.rlim_cur;
    limit.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "raising the limit of open files");
    return 0;
}

uint64_t fd_limits_spare(uint64_t needed) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= needed)
        return 0;
    return limit.rlim_cur - needed;
}

uint64_t fd_limits_before(void) {
    return before_raise;
}

void fd_limits_restore(uint64_t before) {
    struct rlimit limit;
    if (before == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = before < limit.rlim_max ? before : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}
