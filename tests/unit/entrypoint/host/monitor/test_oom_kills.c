#include "common/file/file.h"
#include "entrypoint/host/monitor/oom_kills.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char root[PATH_MAX];

static void begin(const char *name) {
    (void)snprintf(root, sizeof(root), "%s/%s", unit_temp_dir(), name);
}

static void put(const char *path, const char *text) {
    struct error err;
    char file[PATH_MAX + 256];
    (void)snprintf(file, sizeof(file), "%s%s", root, path);
    char *slash = strrchr(file, '/');
    *slash = '\0';
    CU_ASSERT_EQUAL(file_make_dirs(file, &err), 0);
    *slash = '/';
    CU_ASSERT_EQUAL(file_put(file, text, strlen(text), 0600, &err), 0);
}

static void the_second_version_is_read(void) {
    begin("two");
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/memory.events",
        "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
    CU_ASSERT_EQUAL(oom_kills(root), 2);
}

/* If all groups can be seen, this process's own counts. */
static void the_own_group_counts_where_it_can_be_seen(void) {
    begin("deep");
    put("/proc/self/cgroup", "0::/pods/a\n");
    put("/sys/fs/cgroup/memory.events", "oom_kill 9\n");
    CU_ASSERT_EQUAL(oom_kills(root), 9);
    put("/sys/fs/cgroup/pods/a/memory.events", "oom_kill 1\n");
    CU_ASSERT_EQUAL(oom_kills(root), 1);
}

static void the_first_version_is_read(void) {
    begin("one");
    put("/proc/self/cgroup", "5:devices:/\n4:memory:/docker/abc\n1:cpu:/\n0::/\n");
    put("/sys/fs/cgroup/memory/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    CU_ASSERT_EQUAL(oom_kills(root), 4);
    put("/sys/fs/cgroup/memory/docker/abc/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    CU_ASSERT_EQUAL(oom_kills(root), 5);
}

static void where_nothing_is_counted_nothing_is_reported(void) {
    begin("none");
    CU_ASSERT_EQUAL(oom_kills(root), -1);
    put("/proc/self/cgroup", "");
    CU_ASSERT_EQUAL(oom_kills(root), -1);
    put("/proc/self/cgroup", "4:memory:/a\n0::/\n");
    CU_ASSERT_EQUAL(oom_kills(root), -1);
    put("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");
    CU_ASSERT_EQUAL(oom_kills(root), -1);
}

UNIT_SUITE("host.oom_kills", UNIT(the_second_version_is_read),
           UNIT(the_own_group_counts_where_it_can_be_seen), UNIT(the_first_version_is_read),
           UNIT(where_nothing_is_counted_nothing_is_reported))
