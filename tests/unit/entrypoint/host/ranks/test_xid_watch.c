/* The case with a child process is tested in tests/system/test_devices.sh. */
#include "entrypoint/host/ranks/xid_watch.h"
#include "tests/support/unit.h"

/* No child process is started if the kernel's log can be read, and stopping works without one. */
static void a_readable_log_needs_no_child(void) {
    struct kmsg kernel = {.fd = 0};
    struct xid_watch watch = {0};
    char *environment[] = {NULL};
    const struct services services = {.environment = environment};
    xid_watch_start(&watch, &services, &kernel);
    CU_ASSERT_PTR_NULL(watch.kernel);
    CU_ASSERT_FALSE(watch.task.running);
    xid_watch_drain(&watch);
    xid_watch_close(&watch);
    CU_ASSERT_EQUAL(kernel.count, 0);
}

UNIT_SUITE("host.xid_watch", UNIT(a_readable_log_needs_no_child))
