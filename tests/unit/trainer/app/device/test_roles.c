#include "tests/support/unit.h"
#include "tests/unit/trainer/comm/tcp/rank_threads.h"
#include "trainer/app/device/roles.h"

#include <string.h>

/* What ranks ask for, and what they are to be. */
struct cast {
    struct options options;
    int workers;       /* 0: a failure */
    const char *words; /* of that */
};

static bool take_roles(struct comm *c, void *context) {
    const struct cast *cast = context;
    struct roles roles;
    struct error err = {0};
    if (roles_open(&roles, &cast->options, c, &err) != 0)
        return cast->workers == 0 && strstr(err.text, cast->words) != NULL;
    const bool serves = comm_rank(c) >= cast->workers;
    const int own = serves ? comm_size(c) - cast->workers : cast->workers;
    const bool ok = roles.workers == cast->workers && roles.serves == serves &&
                    comm_size(roles.own) == own &&
                    comm_rank(roles.own) == comm_rank(c) - (serves ? cast->workers : 0);
    roles_done(&roles);
    return ok;
}

/* Four ranks, two on a host. */
static int on_two_hosts(struct cast *cast, const int local[4]) {
    struct rank_thread ranks[4] = {0};
    const uint16_t port = rank_threads_port();
    for (int i = 0; i < 4; i++) {
        ranks[i] = (struct rank_thread){
            .plan = rank_threads_plan(i, 4, port), .play = take_roles, .context = cast};
        ranks[i].plan.local_rank = local[i];
        ranks[i].plan.local_size = 2;
    }
    return rank_threads_run(ranks, 4);
}

static const int in_turn[] = {0, 1, 0, 1}, crossed[] = {0, 0, 1, 1};

static void the_last_ranks_are_servers(void) {
    struct cast all = {.workers = 4};
    struct cast one = {.options = {.strategy = OPTION_PS_SYNC, .servers = 1}, .workers = 3};
    struct cast three = {.options = {.strategy = OPTION_PS_SYNC, .servers = 3}, .workers = 1};
    CU_ASSERT_EQUAL(on_two_hosts(&all, in_turn), 4);
    CU_ASSERT_EQUAL(on_two_hosts(&one, in_turn), 4);
    CU_ASSERT_EQUAL(on_two_hosts(&three, in_turn), 4);
    one.options.strategy = OPTION_PS_ASYNC;
    CU_ASSERT_EQUAL(on_two_hosts(&one, in_turn), 4);
}

static void the_last_hosts_are_servers(void) {
    struct cast cast = {.options = {.strategy = OPTION_PS_SYNC, .server_hosts = 1}, .workers = 2};
    CU_ASSERT_EQUAL(on_two_hosts(&cast, in_turn), 4);
    cast = (struct cast){.options = cast.options, .words = "follow each other"};
    CU_ASSERT_EQUAL(on_two_hosts(&cast, crossed), 4);
    cast.options.server_hosts = 2;
    CU_ASSERT_EQUAL(on_two_hosts(&cast, in_turn), 4);
}

static void what_cannot_be_is_refused(void) {
    struct cast cast = {.options = {.strategy = OPTION_PS_SYNC, .servers = 4}, .words = "4 ranks"};
    CU_ASSERT_EQUAL(on_two_hosts(&cast, in_turn), 4);
    cast = (struct cast){.options = {.strategy = OPTION_PS_SYNC}, .words = "give --servers N"};
    CU_ASSERT_EQUAL(on_two_hosts(&cast, in_turn), 4);
    cast = (struct cast){.options = {.servers = 1}, .words = "ps-sync and ps-async alone"};
    CU_ASSERT_EQUAL(on_two_hosts(&cast, in_turn), 4);
    cast = (struct cast){.options = {.strategy = OPTION_PS_SYNC, .servers = 1, .server_hosts = 1},
                         .words = "give one of them"};
    CU_ASSERT_EQUAL(on_two_hosts(&cast, in_turn), 4);
}

UNIT_SUITE("app.device.roles", UNIT(the_last_ranks_are_servers), UNIT(the_last_hosts_are_servers),
           UNIT(what_cannot_be_is_refused))
