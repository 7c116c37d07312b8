#include "entrypoint/host/fd_budget.h"

#include "entrypoint/wire/listener.h"
#include "tests/support/unit.h"

#include <sys/resource.h>

static struct cluster_host hosts[400];
static struct cluster cluster = {.hosts = hosts, .count = 400};

static int set_limit(rlim_t soft, rlim_t hard) {
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    hosts[0].slots = 8;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

static void the_master_needs_more_with_every_host(void) {
    hosts[0].slots = 8;
    hosts[1].slots = 8;
    uint64_t many = fd_budget_files(&cluster);
    CU_ASSERT(many > 2 * 400 + 3 * 8);
    cluster.self = 1;
    CU_ASSERT(fd_budget_files(&cluster) < many - 700);
    CU_ASSERT(fd_budget_files(&cluster) > 3 * 8);
    cluster.self = 0;
}

/* However few there are, what the job itself needs is left over. */
static int pending_links_leave_the_rest(void) {
    uint64_t needed = fd_budget_files(&cluster);
    if (set_limit(needed + 100, needed + 100) != 0)
        return 1;
    size_t pending = fd_budget_pending(&cluster);
    if (pending < LISTENER_PENDING_LEAST || 2 * (pending - LISTENER_PENDING_LEAST) != 100)
        return 2;
    if (set_limit(needed - 50, needed + 100) != 0 ||
        fd_budget_pending(&cluster) != LISTENER_PENDING_LEAST)
        return 3;
    return 0;
}

static void pending_links_get_a_share_of_what_the_job_does_not_need(void) {
    CU_ASSERT_EQUAL(unit_in_child(pending_links_leave_the_rest), 0);
}

static int raise_for_pending_links(void) {
    struct error err = {0};
    struct rlimit limit;
    const struct rlimit locked = {.rlim_cur = 4096, .rlim_max = 65536};
    uint64_t needed = fd_budget_files(&cluster);
    if (setrlimit(RLIMIT_MEMLOCK, &locked) != 0)
        return 5;
    if (set_limit(64, needed + 10000) != 0 || fd_budget_raise(&cluster, &err) != 0)
        return 1;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= needed + LISTENER_PENDING_LEAST)
        return 2;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur != 65536)
        return 6;
    if (set_limit(64, needed - 1) != 0 || fd_budget_raise(&cluster, &err) == 0)
        return 3;
    return err.code == EXIT_CODE_CONFIG ? 0 : 4;
}

static void the_limit_is_raised_for_the_job_and_for_pending_links(void) {
    hosts[0].slots = 8;
    CU_ASSERT_EQUAL(unit_in_child(raise_for_pending_links), 0);
}

UNIT_SUITE("host.fd_budget", UNIT(the_master_needs_more_with_every_host),
           UNIT(pending_links_get_a_share_of_what_the_job_does_not_need),
           UNIT(the_limit_is_raised_for_the_job_and_for_pending_links))
