#include "entrypoint/host/preflight/resources.h"
#include "entrypoint/mpi/shm_transport.h"
#include "tests/support/tree.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *text_of(const json_t *means, const char *key) {
    const char *text = json_string_value(json_object_get(means, key));
    return text != NULL ? text : "(none)";
}

static json_int_t number_of(const json_t *means, const char *key) {
    return json_integer_value(json_object_get(means, key));
}

static void a_machine_with_gpus_is_read(void) {
    const char *root = unit_temp_dir();
    tree_put(
        root, "/proc", "cpuinfo",
        "processor\t: 0\nmodel name\t: A Fast One\nflags\t: x\n\nprocessor\t: 1\nmodel name\t: "
        "B\n");
    tree_put(
        root, "/proc/driver/nvidia", "version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
        "GCC version:  gcc version 12\n");
    tree_put(root, "/proc/driver/nvidia/gpus/0000:01:00.0", "information",
             "Model: \t\t NVIDIA H200\nIRQ:   \t\t 12\n");
    tree_put(root, "/dev", "nvidia0", "");
    tree_put(root, "/dev", "nvidia1", "");
    tree_put(root, "/dev", "nvidiactl", "");
    tree_put(root, "/dev/shm", "x", "");
    tree_put(root, "/sys/fs/cgroup", "pids.max", "1000\n");
    tree_put(root, "/sys/fs/cgroup", "pids.current", "990\n");
    tree_put(root, "/sys/class/infiniband/mlx5_0", "x", "");
    tree_put(root, "/sys/class/infiniband_verbs/uverbs0", "ibdev", "mlx5_0\n");
    tree_put(root, "/dev/infiniband", "uverbs0", "");
    json_t *means = resources_gather(root, root, "lo");
    CU_ASSERT_STRING_EQUAL(text_of(means, "processor"), "A Fast One");
    CU_ASSERT_STRING_EQUAL(text_of(means, "gpu"), "NVIDIA H200");
    CU_ASSERT_STRING_EQUAL(text_of(means, "driver"), "550.54.15");
    CU_ASSERT_EQUAL(number_of(means, "gpus"), 2);
    CU_ASSERT_EQUAL(number_of(means, "pids"), 10);
    CU_ASSERT(json_is_true(json_object_get(means, "rdma")));
    CU_ASSERT(json_is_false(json_object_get(means, "efa")));
    CU_ASSERT_EQUAL(number_of(means, "mtu"), 65536); /* Linux's loopback */
    CU_ASSERT(number_of(means, "disk_free_mib") >= 0);
    CU_ASSERT(number_of(means, "shm_free_mib") >= 0);
    json_decref(means);
}

/* Each of several models is reported once, and those given to other containers are not. */
static void all_models_of_gpus_are_read(void) {
    static const char *const models[] = {"NVIDIA L4", "NVIDIA A10G", "NVIDIA T4", "NVIDIA L4"};
    char root[1024];
    char path[1100];
    char text[128];
    (void)snprintf(root, sizeof(root), "%s/mixed", unit_temp_dir());
    for (unsigned i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/0000:0%u:00.0", i);
        (void)snprintf(text, sizeof(text), "Model: \t\t %s\nIRQ:   \t\t 12\nDevice Minor: \t %u\n",
                       models[i], i);
        tree_put(root, path, "information", text);
        (void)snprintf(path, sizeof(path), "nvidia%u", i);
        if (i != 2)
            tree_put(root, "/dev", path, "");
    }
    json_t *means = resources_gather(root, root, "");
    CU_ASSERT_STRING_EQUAL(text_of(means, "gpu"), "NVIDIA A10G, NVIDIA L4");
    CU_ASSERT_EQUAL(number_of(means, "gpus"), 3);
    json_decref(means);
}

static void what_is_not_there_is_not_known(void) {
    struct utsname kernel;
    CU_ASSERT_EQUAL(uname(&kernel), 0);
    json_t *means = NULL;
    int may_read = ETIMEDOUT; /* as of a child that is late on a busy machine */
    for (int tries = 0; tries < 20 && may_read == ETIMEDOUT; tries++) {
        json_decref(means);
        means = resources_gather("/proc/no/such/root", "/proc/no/such/base", "no-such-if0");
        may_read = strcmp(text_of(means, "read_memory"), strerror(ETIMEDOUT)) == 0
                       ? ETIMEDOUT
                       : shm_transport_may_read();
    }
    CU_ASSERT_STRING_EQUAL(text_of(means, "processor"), "");
    CU_ASSERT_STRING_EQUAL(text_of(means, "gpu"), "");
    CU_ASSERT_STRING_EQUAL(text_of(means, "driver"), "");
    CU_ASSERT_STRING_EQUAL(text_of(means, "kernel"), kernel.release);
    CU_ASSERT_STRING_EQUAL(text_of(means, "kernel_name"), kernel.nodename);
    CU_ASSERT_EQUAL(number_of(means, "gpus"), 0);
    CU_ASSERT_EQUAL(number_of(means, "mtu"), -1);
    CU_ASSERT_EQUAL(number_of(means, "disk_free_mib"), -1);
    CU_ASSERT_EQUAL(number_of(means, "shm_free_mib"), -1);
    CU_ASSERT_EQUAL(may_read == 0, text_of(means, "read_memory")[0] == '\0');
    json_decref(means);
}

/* Files of another driver, or none of a driver's at all. */
static void odd_files_do_no_harm(void) {
    const char *root = unit_temp_dir();
    tree_put(root, "/proc", "cpuinfo", "model name\t: \xff\xfe\n");
    tree_put(root, "/proc/driver/nvidia", "version", "NVRM version: 1");
    tree_put(root, "/sys/fs/cgroup", "pids.max", "max\n");
    tree_put(root, "/sys/fs/cgroup/pids", "pids.max", "5");
    tree_put(root, "/sys/fs/cgroup/pids", "pids.current", "9");
    json_t *means = resources_gather(root, root, "");
    CU_ASSERT_STRING_EQUAL(text_of(means, "processor"), "");
    CU_ASSERT_STRING_EQUAL(text_of(means, "driver"), "");
    CU_ASSERT_EQUAL(number_of(means, "pids"), 0);
    CU_ASSERT_EQUAL(number_of(means, "mtu"), -1);
    json_decref(means);
}

/* As a user who is not root, so that a limit applies; threads count, and those of others do not. */
static void what_the_user_runs_is_taken_off_its_limit(void) {
    enum { LIMIT = 500, SOMEBODY = 65534 };
    const char *root = unit_temp_dir();
    char path[1024];
    struct rlimit before;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NPROC, &before), 0);
    const struct rlimit own = {.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
    bool is_root = geteuid() == 0;
    tree_put(root, "/proc/7/task/7", "x", "");
    tree_put(root, "/proc/7/task/8", "x", "");
    tree_put(root, "/proc/self/task/9", "x", "");
    (void)snprintf(path, sizeof(path), "%s/proc/7/task", root);
    if (is_root) {
        tree_put(root, "/proc/1/task/1", "x", ""); /* root's */
        CU_ASSERT_EQUAL(chown(path, SOMEBODY, SOMEBODY), 0);
        CU_ASSERT_EQUAL(chmod(root, 0755), 0);
        CU_ASSERT_EQUAL_FATAL(seteuid(SOMEBODY), 0);
    }
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NPROC, &own), 0);
    json_t *means = resources_gather(root, root, "lo");
    CU_ASSERT_EQUAL(number_of(means, "pids"), LIMIT - 2);
    json_decref(means);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NPROC, &before), 0);
    CU_ASSERT(!is_root || seteuid(0) == 0);
}

UNIT_SUITE("host.resources", UNIT(what_the_user_runs_is_taken_off_its_limit),
           UNIT(a_machine_with_gpus_is_read), UNIT(all_models_of_gpus_are_read),
           UNIT(what_is_not_there_is_not_known), UNIT(odd_files_do_no_harm))
