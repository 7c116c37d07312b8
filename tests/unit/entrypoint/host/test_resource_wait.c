/* GPUs are tested in tests/system/test_devices.sh, ports in test_port_wait.c. */
#include "entrypoint/host/resource_wait.h"
#include "entrypoint/job/job.h"
#include "tests/support/unit.h"

static int told;

static void done(void *context, const struct error *failure) {
    (void)context;
    CU_ASSERT_PTR_NULL(failure);
    told++;
}

static void what_is_free_is_reported_at_once(void) {
    struct loop loop;
    struct cluster_host host = {.name = {"a"}, .slots = 1};
    struct job job = {.cluster = {.hosts = &host, .count = 1}};
    struct resource_wait wait = {0};
    const struct services services = {.loop = &loop, .job = &job};
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    told = 0;
    resource_wait_await(&wait, &services, NULL, done, NULL);
    CU_ASSERT_EQUAL(told, 1);
    resource_wait_await(&wait, &services, NULL, done, NULL);
    CU_ASSERT_EQUAL(told, 2);
    resource_wait_cancel(&wait);
    resource_wait_cancel(&(struct resource_wait){0});
    loop_done(&loop);
}

UNIT_SUITE("host.resource_wait", UNIT(what_is_free_is_reported_at_once))
