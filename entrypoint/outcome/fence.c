#include "entrypoint/outcome/fence.h"

#include "common/clock.h"

/* Time added to the leases, for other hosts to end what runs and to connect. How the times add up
 * is in fence.h; test_fence_model.c walks them on a clock. */
static const int64_t settle = 2 * CLOCK_SECOND;
static const int64_t ending = FENCE_ENDING_SECONDS * CLOCK_SECOND;
static const int64_t dying = FENCE_EXIT_SECONDS * CLOCK_SECOND;

/* A silent host acts for a lease after the last heartbeat, and then needs time to end its ranks. */
int64_t fence_of_host(int64_t at, int64_t lease, bool exited) {
    return exited ? at + dying : at + lease + ending;
}

/* A host that is only cut off may have heard two heartbeats more than the master knows. */
int64_t fence_without_failover(int64_t at, int64_t beat, bool silent) {
    return at + (silent ? FENCE_UNANSWERED_BEATS * beat : 0) + FENCE_KILL_SECONDS * CLOCK_SECOND;
}

/* A missing host may have heard the master until its lease was over, and ends one lease later. If
 * none is missing, all have seen the end of the master's process, or its lease ends by itself. */
int64_t fence_of_master(const struct fence_master *f) {
    const int64_t alone = f->heard + f->lease + ending;
    const int64_t others = alone + f->lease;
    const int64_t settled = f->opened + f->lease + settle;
    if (f->complete)
        return f->exited ? f->ended + dying : alone;
    return others > settled ? others : settled;
}
