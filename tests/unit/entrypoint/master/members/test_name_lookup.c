#include "entrypoint/master/members/name_lookup.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <sys/wait.h>

enum { HOSTS = 3 };

static struct cluster_host cluster[HOSTS];
static struct job job;
static struct member members[HOSTS];
static struct master m;

static void until_over(void *context) {
    struct timer *look = context;
    if (m.name_lookup.host == 0)
        loop_end(&m.s.loop);
    else
        loop_after(&m.s.loop, look, 10 * CLOCK_MILLISECOND);
}

static void look_up(bool counted) {
    static const char *const names[HOSTS] = {"127.0.0.1", "no.such.host.invalid", "127.0.0.9"};
    struct timer look = {.fire = until_over, .context = &look};
    job = (struct job){.cluster = {.hosts = cluster, .count = HOSTS, .counted = counted}};
    m = (struct master){.s = {.job = &job}, .members = members};
    for (size_t i = 0; i < HOSTS; i++) {
        cluster[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(cluster[i].name.text, HOST_NAME_SIZE, "%s", names[i]);
        members[i] = (struct member){.master = &m, .index = i};
    }
    reaping_open(&m.s.loop, &m.s.reaper);
    name_lookup_start(&m);
    loop_after(&m.s.loop, &look, 0);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    loop_cancel(&m.s.loop, &look);
    name_lookup_close(&m);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    loop_done(&m.s.loop);
}

static void names_without_an_address_are_marked(void) {
    look_up(false);
    CU_ASSERT_FALSE(members[0].unresolved);
    CU_ASSERT_TRUE(members[1].unresolved);
    CU_ASSERT_FALSE(members[2].unresolved);
}

static void hosts_that_are_counted_have_no_names(void) {
    look_up(true);
    CU_ASSERT_FALSE(members[1].unresolved);
}

UNIT_SUITE("master.members.name_lookup", UNIT(names_without_an_address_are_marked),
           UNIT(hosts_that_are_counted_have_no_names))
