#include "common/system/cpus.h"

#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <stdio.h>

static char root[2048];

static void use_root(const char *name) {
    (void)snprintf(root, sizeof(root), "%s/%s", unit_temp_dir(), name);
}

static void put(const char *folder, const char *name, const char *text) {
    tree_put(root, folder, name, text);
}

static void quotas_are_read_as_the_kernel_writes_them(void) {
    CU_ASSERT_EQUAL(cpus_parse_quota("200000 100000\n"), 2);
    CU_ASSERT_EQUAL(cpus_parse_quota("150000 100000\n"), 2);
    CU_ASSERT_EQUAL(cpus_parse_quota("50000 100000\n"), 1);
    CU_ASSERT_EQUAL(cpus_parse_quota("max 100000\n"), 0);
    CU_ASSERT_EQUAL(cpus_parse_quota("-1 100000"), 0);
    CU_ASSERT_EQUAL(cpus_parse_quota("max\n"), 0);
    CU_ASSERT_EQUAL(cpus_parse_quota("200000\n"), 0);
    CU_ASSERT_EQUAL(cpus_parse_quota(""), 0);
    CU_ASSERT_EQUAL(cpus_parse_quota("5 0"), 0);
}

static void the_own_groups_quota_comes_before_the_root_s(void) {
    use_root("v2");
    CU_ASSERT_EQUAL(cpus_quota(root), 0);
    put("sys/fs/cgroup", "cpu.max", "300000 100000\n");
    CU_ASSERT_EQUAL(cpus_quota(root), 3);
    put("proc/self", "cgroup", "1:name=x:/other\n0::/jobs/one\n");
    CU_ASSERT_EQUAL(cpus_quota(root), 3);
    put("sys/fs/cgroup/jobs/one", "cpu.max", "max 100000\n");
    CU_ASSERT_EQUAL(cpus_quota(root), 3);
    put("sys/fs/cgroup/jobs/one", "cpu.max", "150000 100000\n");
    CU_ASSERT_EQUAL(cpus_quota(root), 2);
}

static void version_1_has_two_files(void) {
    use_root("v1");
    put("sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu", "cpu.cfs_period_us", "100000\n");
    CU_ASSERT_EQUAL(cpus_quota(root), 0);
    put("sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "400000\n");
    CU_ASSERT_EQUAL(cpus_quota(root), 4);
}

static int bound_to_one(void) {
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof(own), &own) != 0)
        return 1;
    for (size_t cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &own) && kept++ > 0)
            CPU_CLR(cpu, &own);
    if (sched_setaffinity(0, sizeof(own), &own) != 0)
        return 2;
    return cpus_affinity() == 1 && cpus_usable(root) == 1 ? 0 : 3;
}

static void the_less_of_mask_and_quota_may_be_used(void) {
    use_root("usable");
    int affinity = cpus_affinity();
    CU_ASSERT(affinity >= 1);
    CU_ASSERT_EQUAL(cpus_usable(root), affinity);
    put("sys/fs/cgroup", "cpu.max", "50000 100000\n");
    CU_ASSERT_EQUAL(cpus_usable(root), 1);
    put("sys/fs/cgroup", "cpu.max", "819200000 100000\n");
    CU_ASSERT_EQUAL(cpus_usable(root), affinity);
    CU_ASSERT_EQUAL(unit_in_child(bound_to_one), 0);
}

UNIT_SUITE("common.cpus", UNIT(quotas_are_read_as_the_kernel_writes_them),
           UNIT(the_own_groups_quota_comes_before_the_root_s), UNIT(version_1_has_two_files),
           UNIT(the_less_of_mask_and_quota_may_be_used))
