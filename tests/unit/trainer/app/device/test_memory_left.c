#include "trainer/app/device/memory_left.h"

#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t MIB = 1024 * 1024;
static char root[2048];

static void use_root(const char *name) {
    (void)snprintf(root, sizeof(root), "%s/%s", unit_temp_dir(), name);
}

static void put(const char *folder, const char *name, const char *text) {
    tree_put(root, folder, name, text);
}

static void left_is(int64_t bytes, int sharers, const char *bounds) {
    struct memory_left left = memory_left(root, sharers);
    CU_ASSERT_EQUAL(left.bytes, bytes);
    CU_ASSERT_STRING_EQUAL(left.bounds, bounds);
}

static void a_machine_has_what_is_available_and_its_swap_space(void) {
    use_root("machine");
    left_is(INT64_MAX, 1, "nothing");
    put("proc", "meminfo", "MemTotal:  9000 kB\nMemAvailable:    4096 kB\nSwapFree:  1024 kB\n");
    left_is(5 * MIB, 1, "this machine");
    left_is(5 * MIB / 4, 4, "this machine");
}

static void groups_bound_it_and_those_above_do(void) {
    static const char container[] = "the memory limit of this container";
    use_root("v2");
    put("proc", "meminfo", "MemAvailable: 1048576 kB\nSwapFree: 65536 kB\n");
    put("proc/self", "cgroup", "0::/jobs/one\n");
    put("sys/fs/cgroup/jobs/one", "memory.max", "max\n");
    put("sys/fs/cgroup/jobs/one", "memory.current", "1048576\n");
    left_is(1088 * MIB, 1, "this machine");
    put("sys/fs/cgroup/jobs", "memory.max", "104857600\n");
    put("sys/fs/cgroup/jobs", "memory.current", "10485760\n");
    left_is(90 * MIB, 1, container);
    put("sys/fs/cgroup/jobs", "memory.stat",
        "anon 1\nactive_file 1048576\ninactive_file 2097152\n");
    left_is(93 * MIB, 1, container);
    left_is(31 * MIB, 3, container);
    put("sys/fs/cgroup/jobs", "memory.swap.max", "0\n");
    left_is(93 * MIB, 1, container);
    put("sys/fs/cgroup/jobs", "memory.swap.max", "3145728\n");
    put("sys/fs/cgroup/jobs", "memory.swap.current", "1048576\n");
    left_is(95 * MIB, 1, container);
    put("sys/fs/cgroup/jobs", "memory.swap.max", "max\n");
    left_is((93 + 64) * MIB, 1, container);
    put("sys/fs/cgroup/jobs/one", "memory.max", "1048576\n");
    left_is(0 + 0, 1, container);
}

/* Inside a container the group that is mounted is its own, whatever its path is outside. */
static void version_1_and_mounted_groups_are_read(void) {
    use_root("v1");
    put("proc/self", "cgroup", "4:memory:/docker/abc\n3:cpu:/docker/abc\n");
    put("sys/fs/cgroup/memory", "memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory", "memory.usage_in_bytes", "1048576\n");
    left_is(INT64_MAX, 1, "nothing");
    put("sys/fs/cgroup/memory", "memory.limit_in_bytes", "4194304\n");
    put("sys/fs/cgroup/memory", "memory.stat", "inactive_file 7\ntotal_inactive_file 1048576\n");
    left_is(4 * MIB, 1, "the memory limit of this container");
}

/* Limits that leave room for what AddressSanitizer maps. */
static int with_limits(void) {
    struct rlimit space = {(rlim_t)(1L << 46), (rlim_t)(1L << 46)};
    struct memory_left left;
    use_root("none");
    tree_put(root, "proc/self", "status",
             "VmPeak:\t 9 kB\nVmSize:\t    1024 kB\nVmData:\t 2048 kB\n");
    if (setrlimit(RLIMIT_AS, &space) != 0)
        return 1;
    left = memory_left(root, 8);
    if (left.bytes != (1L << 46) - MIB || strstr(left.bounds, "ulimit -v") == NULL)
        return 2;
    space.rlim_cur = (rlim_t)(1L << 45);
    if (setrlimit(RLIMIT_DATA, &space) != 0)
        return 3;
    left = memory_left(root, 8);
    return left.bytes == (1L << 45) - 2 * MIB && strstr(left.bounds, "ulimit -d") != NULL ? 0 : 4;
}

/* A process's own limits are not divided. */
static void limits_of_the_process_bound_it(void) {
    pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0)
        _exit(with_limits());
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

static void this_machine_tells(void) {
    struct memory_left left = memory_left("", 1);
    CU_ASSERT(left.bytes > MIB && left.bytes < INT64_MAX);
    CU_ASSERT(memory_left("", 1000).bytes < left.bytes);
}

UNIT_SUITE("app.memory_left", UNIT(a_machine_has_what_is_available_and_its_swap_space),
           UNIT(groups_bound_it_and_those_above_do), UNIT(version_1_and_mounted_groups_are_read),
           UNIT(limits_of_the_process_bound_it), UNIT(this_machine_tells))
