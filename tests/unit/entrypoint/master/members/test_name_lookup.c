#include "entrypoint/master/members/name_lookup.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { HOSTS = 260 };

static struct cluster_host cluster[HOSTS];
static struct job job;
static struct member members[HOSTS];
static struct master m;

static void until_over(void *context) {
    struct timer *look = context;
    if (!m.name_lookup.begun)
        loop_end(&m.s.loop);
    else
        loop_after(&m.s.loop, look, 10 * CLOCK_MILLISECOND);
}

/* Two dots make a name that no server is asked about. */
static const char *const three[] = {"127.0.0.1", "no..such.host", "127.0.0.9"};

/* COUNT hosts with the three names in turn. */
static void look_up(size_t count, bool counted) {
    struct timer look = {.fire = until_over, .context = &look};
    job = (struct job){.cluster = {.hosts = cluster, .count = count, .counted = counted}};
    m = (struct master){.s = {.job = &job}, .members = members};
    for (size_t i = 0; i < count; i++) {
        cluster[i] = (struct cluster_host){.slots = 1};
        (void)snprintf(cluster[i].name.text, HOST_NAME_SIZE, "%s", three[i % 3]);
        members[i] = (struct member){.master = &m, .index = i};
    }
    reaping_open(&m.s.loop, &m.s.reaper);
    name_lookup_start(&m);
    m.name_lookup.deadline = INT64_MAX; /* however slow the machine is */
    loop_after(&m.s.loop, &look, 0);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, NULL), 0);
    loop_cancel(&m.s.loop, &look);
    name_lookup_close(&m);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    loop_done(&m.s.loop);
}

static void names_without_an_address_are_marked(void) {
    look_up(3, false);
    CU_ASSERT_FALSE(members[0].unresolved);
    CU_ASSERT_TRUE(members[1].unresolved);
    CU_ASSERT_FALSE(members[2].unresolved);
}

/* Names that do not resolve at the end of a long list are found in the same turn. */
static void all_hosts_of_a_large_job_are_looked_up(void) {
    size_t unresolved = 0;
    look_up(HOSTS, false);
    for (size_t i = 0; i < HOSTS; i++) {
        CU_ASSERT_EQUAL(members[i].unresolved, i % 3 == 1);
        unresolved += members[i].unresolved;
    }
    CU_ASSERT_EQUAL(m.name_lookup.unresolved, unresolved);
    CU_ASSERT_EQUAL(m.name_lookup.running, 0);
    CU_ASSERT_STRING_EQUAL(m.name_lookup.names + strlen(m.name_lookup.names) - 15,
                           ", no..such.host");
    CU_ASSERT_EQUAL(strlen(m.name_lookup.names), 8 * strlen(", no..such.host") - 2);
}

static void hosts_that_are_counted_have_no_names(void) {
    look_up(3, true);
    CU_ASSERT_FALSE(members[1].unresolved);
}

UNIT_SUITE("master.members.name_lookup", UNIT(names_without_an_address_are_marked),
           UNIT(all_hosts_of_a_large_job_are_looked_up), UNIT(hosts_that_are_counted_have_no_names))
