#include "entrypoint/host/tls_contexts.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static struct cluster_host hosts[2];
static struct job job;
static char key[] = "0123456789abcdef", base[PATH_MAX];

/* What goes wrong leaves its reason below the base. */
static void set_up(size_t count, size_t self) {
    (void)snprintf(base, sizeof base, "%s", unit_temp_dir());
    hosts[0] = (struct cluster_host){.name.text = "algo-1"};
    hosts[1] = (struct cluster_host){.name.text = "algo-2", .place = 1};
    job = (struct job){.settings = {.key = key, .base_dir = base},
                       .cluster = {.hosts = hosts, .count = count, .self = self, .job = "job"}};
}

static bool is_set(const unsigned char bytes[KEY_SIZE]) {
    static const unsigned char none[KEY_SIZE];
    return memcmp(bytes, none, KEY_SIZE) != 0;
}

static void every_role_has_its_own(void) {
    struct tls_contexts c;
    struct error err = {0};
    set_up(2, 0);
    CU_ASSERT_EQUAL(tls_contexts_open(&c, &job, NULL, &err), 0);
    CU_ASSERT(c.tls != NULL && c.client != NULL && c.tls != c.client);
    CU_ASSERT_FALSE(is_set(c.pass_key));
    tls_contexts_close(&c);
    set_up(2, 1);
    CU_ASSERT_EQUAL(tls_contexts_open(&c, &job, NULL, &err), 0);
    CU_ASSERT(c.tls != NULL && c.client == NULL);
    tls_contexts_close(&c);
}

static void a_host_alone_has_none(void) {
    struct tls_contexts c;
    struct error err = {0};
    set_up(1, 0);
    CU_ASSERT_EQUAL(tls_contexts_open(&c, &job, NULL, &err), 0);
    CU_ASSERT(c.tls == NULL && c.client == NULL);
    tls_contexts_close(&c);
    job.settings.key = NULL;
    job.settings.require_key = true;
    CU_ASSERT_EQUAL(tls_contexts_open(&c, &job, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_REQUIRE_KEY");
    tls_contexts_close(&c);
}

/* The key is gone by then. */
static void a_later_life_takes_those_of_the_first_one(void) {
    struct role_state s = {.on = true, .returns = true};
    struct tls_contexts first;
    struct tls_contexts later;
    struct error err = {0};
    set_up(2, 1);
    CU_ASSERT_EQUAL(tls_contexts_open(&first, &job, &s, &err), 0);
    CU_ASSERT(s.client != NULL && s.server != NULL && s.client != s.server);
    CU_ASSERT(first.tls == s.client && first.client == s.client);
    tls_contexts_close(&first);
    job.settings.key = NULL;
    s.again = true;
    job.cluster.self = 0;
    CU_ASSERT_EQUAL(tls_contexts_open(&later, &job, &s, &err), 0);
    CU_ASSERT(later.tls == s.server);
    tls_contexts_close(&later);
    role_state_close(&s); /* it owns them */
}

UNIT_SUITE("host.tls_contexts", UNIT(every_role_has_its_own), UNIT(a_host_alone_has_none),
           UNIT(a_later_life_takes_those_of_the_first_one))
