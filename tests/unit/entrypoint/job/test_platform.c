#include "common/file/file.h"
#include "common/system/cpus.h"
#include "entrypoint/job/platform.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[4096];
static char *no_variables[] = {NULL};

static struct settings settings_with(const char *hosts) {
    snprintf(base, sizeof(base), "%s/ml", unit_temp_dir());
    return (struct settings){.base_dir = base, .hosts = hosts};
}

static void write_config(const char *text) {
    char path[4200];
    snprintf(path, sizeof(path), "%s/input/config", base);
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/input/config/resourceconfig.json", base);
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
}

static void no_description_is_one_host(void) {
    struct settings s = settings_with(NULL);
    struct cluster c;
    CU_ASSERT_EQUAL(platform_read(&s, no_variables, NULL, &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_ALONE);
    CU_ASSERT_EQUAL(c.count, 1);
    CU_ASSERT(cluster_is_master(&c));
    CU_ASSERT_STRING_EQUAL(c.job, "ringmaster");
    cluster_fill_slots(&c, 4);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 4);
    cluster_done(&c);
}

/* On a machine of that kernel name; 0 where it is a host alone that is called SELF. */
static int alone_as(const char *kernel_name, const char *self) {
    struct settings s = settings_with(NULL);
    struct cluster c;
    if (unshare(CLONE_NEWUTS) != 0 || sethostname(kernel_name, strlen(kernel_name)) != 0)
        return 77;
    if (platform_read(&s, no_variables, NULL, &c, NULL) != 0)
        return 1;
    return c.count == 1 && strcmp(c.hosts[0].name.text, self) == 0 ? 0 : 2;
}

static int good_name(void) {
    int status = alone_as("Node-7.x.org", "Node-7.x.org");
    return status != 0 ? status : alone_as("my_laptop", "my_laptop");
}

static int no_host_name(void) {
    return alone_as("-laptop", "localhost");
}

static void a_host_alone_is_called_as_its_kernel_says_where_that_is_a_name(void) {
    int status = unit_in_child(good_name);
    if (WEXITSTATUS(status) == 77) {
        unit_skip("the kernel's name cannot be changed");
        return;
    }
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(unit_in_child(no_host_name), 0);
}

static void variables_win_over_the_file_and_the_file_over_nothing(void) {
    struct settings s = settings_with(NULL);
    write_config("{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\"],"
                 "\"network_interface_name\":\"eth7\"}");
    struct cluster c;
    CU_ASSERT_EQUAL(platform_read(&s, no_variables, "job-7", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_SAGEMAKER);
    CU_ASSERT_EQUAL(c.self, 1);
    CU_ASSERT_STRING_EQUAL(c.job, "job-7");
    CU_ASSERT_STRING_EQUAL(c.interface, "eth7");
    cluster_done(&c);

    s.hosts = "n1:2,n2";
    s.host = "n2";
    s.job = "other";
    s.interface = "eth1";
    CU_ASSERT_EQUAL(platform_read(&s, no_variables, "job-7", &c, NULL), 0);
    CU_ASSERT_EQUAL(c.source, CLUSTER_ENVIRONMENT);
    CU_ASSERT_STRING_EQUAL(c.job, "other");
    CU_ASSERT_STRING_EQUAL(c.interface, "eth1");
    CU_ASSERT_PTR_NULL(c.resource_config);
    cluster_fill_slots(&c, 3);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 5);
    CU_ASSERT_EQUAL(cluster_most_slots(&c), 3);
    cluster_done(&c);
}

enum { VARIABLES_MAX = 5 };

/* "SLOTS JOB, N s, N before" of the host that VARIABLES have alone, or the error. */
static const char *alone_with(const char *platform, const char *const *variables) {
    static char text[ERROR_TEXT_MAX];
    char *environment[VARIABLES_MAX + 1] = {0};
    struct settings s = settings_with(NULL);
    struct cluster c;
    struct error err = {0};
    snprintf(base, sizeof(base), "%s/nothing", unit_temp_dir());
    s.platform = platform;
    for (size_t i = 0; i < VARIABLES_MAX && variables[i] != NULL; i++)
        environment[i] = (char *)(uintptr_t)variables[i];
    if (platform_read(&s, environment, NULL, &c, &err) != 0) {
        (void)snprintf(text, sizeof(text), "%s", err.text);
        return text;
    }
    CU_ASSERT_EQUAL(c.source, CLUSTER_ALONE);
    CU_ASSERT_EQUAL(c.count, 1);
    CU_ASSERT_FALSE(c.counted);
    CU_ASSERT_STRING_NOT_EQUAL(c.hosts[0].name.text, "n1"); /* it goes by its own name */
    CU_ASSERT_STRING_NOT_EQUAL(c.hosts[0].name.text, "node-0");
    (void)snprintf(text, sizeof(text), "%u %s, %u s, %u before", c.hosts[0].slots, c.job, c.grace,
                   c.before);
    cluster_done(&c);
    return text;
}

static void what_a_platform_says_of_one_host_holds_for_it(void) {
    static const struct {
        const char *platform, *variables[VARIABLES_MAX], *expected;
    } cases[] = {
        {NULL, {"SLURM_STEP_NODELIST=n1"}, "0 ringmaster, 30 s, 0 before"},
        {NULL,
         {"SLURM_STEP_NODELIST=n1", "SLURM_NODEID=0", "SLURM_JOB_ID=42", "SLURM_GPUS_ON_NODE=4",
          "SLURM_RESTART_COUNT=2"},
         "4 42, 30 s, 2 before"},
        {"none",
         {"SLURM_STEP_NODELIST=n1", "SLURM_NODEID=0", "SLURM_JOB_ID=42", "SLURM_GPUS_ON_NODE=4",
          "SLURM_RESTART_COUNT=2"},
         "0 ringmaster, 0 s, 0 before"},
        {NULL, {"PET_NNODES=1", "PET_NPROC_PER_NODE=4"}, "4 ringmaster, 30 s, 0 before"},
        {NULL, {"PET_NNODES=1", "PET_NPROC_PER_NODE=auto"}, "0 ringmaster, 30 s, 0 before"},
        {NULL, {"PET_NNODES=1", "PET_NPROC_PER_NODE="}, "0 ringmaster, 30 s, 0 before"},
        {NULL, {"SLURM_STEP_NODELIST=n1", "SLURM_GPUS_ON_NODE="}, "0 ringmaster, 30 s, 0 before"},
        {NULL,
         {"AWS_BATCH_JOB_NUM_NODES=1", "AWS_BATCH_JOB_ID=8a7-1#0", "AWS_BATCH_JOB_ATTEMPT=2"},
         "0 8a7-1, 30 s, 1 before"},
        {NULL, {"RINGMASTER_COUNT=1", "JOB_COMPLETION_INDEX=0"}, "0 ringmaster, 30 s, 0 before"},
        {"torch", {"NNODES=1", "NODE_RANK=0", "NPROC_PER_NODE=2"}, "2 ringmaster, 0 s, 0 before"},
        {NULL, {"PBS_NODEFILE=four", "PBS_JOBID=12"}, "4 12, 10 s, 0 before"},
        {NULL, {"PBS_NODEFILE=two", "PBS_JOBID=12"}, "2 12, 10 s, 0 before"},
        /* One line says that it is there, and its accelerators how many ranks that are. */
        {NULL, {"PBS_NODEFILE=one", "PBS_JOBID=12"}, "0 12, 10 s, 0 before"},
        {NULL, {"PET_NNODES=1", "PET_NPROC_PER_NODE=cpus"}, "PET_NPROC_PER_NODE: "},
        {NULL, {"SLURM_STEP_NODELIST=n1", "SLURM_GPUS_ON_NODE=cpu"}, "SLURM_GPUS_ON_NODE: "},
        {NULL, {"PET_NNODES=1", "PET_NPROC_PER_NODE=257"}, "PET_NPROC_PER_NODE: "},
        {NULL, {"SLURM_STEP_NODELIST=n1", "SLURM_GPUS_ON_NODE=x"}, "SLURM_GPUS_ON_NODE: "},
        {NULL, {"AWS_BATCH_JOB_NUM_NODES=1", "AWS_BATCH_JOB_ATTEMPT=x"}, "AWS_BATCH_JOB_ATTEMPT: "},
    };
    CU_ASSERT_EQUAL_FATAL(chdir(unit_temp_dir()), 0);
    CU_ASSERT_EQUAL(file_publish("four", "n1\nn1\nn1\nn1\n", 12, 0644, NULL), 0);
    CU_ASSERT_EQUAL(file_publish("two", "n1\nn1\n", 6, 0644, NULL), 0);
    CU_ASSERT_EQUAL(file_publish("one", "n1\n", 3, 0644, NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ASSERT_CONTAINS(alone_with(cases[i].platform, cases[i].variables), cases[i].expected);
}

static const char *of_cpus(void) {
    static const char *const variables[VARIABLES_MAX] = {"PET_NNODES=1", "PET_NPROC_PER_NODE=cpu"};
    return alone_with(NULL, variables);
}

static int with_one_cpu(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        return 1;
    return strcmp(of_cpus(), "1 ringmaster, 30 s, 0 before") == 0 ? 0 : 2;
}

/* torchrun's word, for the CPUs that this container may use. */
static void ranks_may_be_as_many_as_cpus(void) {
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "%d ringmaster, 30 s, 0 before", cpus_usable(""));
    CU_ASSERT_STRING_EQUAL(of_cpus(), expected);
    CU_ASSERT_EQUAL(unit_in_child(with_one_cpu), 0);
}

/* Kubernetes sets its variable in every container, wherever the host names come from. */
static void a_pod_is_stopped_as_kubernetes_does(void) {
    char service[] = "KUBERNETES_SERVICE_HOST=10.96.0.1";
    char tasks[] = "TF_CONFIG={\"cluster\":{\"worker\":[\"a:1\",\"b:1\"]},"
                   "\"task\":{\"type\":\"worker\",\"index\":0}}";
    char nodes[] = "DSTACK_NODES_IPS=10.0.0.1\n10.0.0.2", rank[] = "DSTACK_NODE_RANK=0";
    static const struct {
        const char *hosts, *host, *platform;
        bool in_pod, tasks, nodes;
        unsigned grace;
    } cases[] = {
        {"n1,n2", "n1", NULL, true, false, false, 30},
        {"n1,n2", "n1", NULL, false, false, false, 0},
        {NULL, NULL, NULL, true, true, false, 30},
        {NULL, NULL, "none", true, false, false, 30},
        {NULL, NULL, NULL, true, false, true, 300}, /* what a platform says counts */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *environment[5] = {NULL};
        size_t count = 0;
        struct settings s = settings_with(cases[i].hosts);
        struct cluster c;
        struct error err = {0};
        snprintf(base, sizeof(base), "%s/nothing", unit_temp_dir());
        s.host = cases[i].host;
        s.platform = cases[i].platform;
        if (cases[i].in_pod)
            environment[count++] = service;
        if (cases[i].tasks)
            environment[count++] = tasks;
        if (cases[i].nodes) {
            environment[count++] = nodes;
            environment[count] = rank;
        }
        CU_ASSERT_EQUAL(platform_read(&s, environment, NULL, &c, &err), 0);
        CU_ASSERT_EQUAL(c.grace, cases[i].grace);
        cluster_done(&c);
    }
}

static void wrong_descriptions_are_errors(void) {
    struct cluster c;
    struct error err = {0};
    struct settings s = settings_with(NULL);
    s.host = "n1";
    CU_ASSERT_EQUAL(platform_read(&s, no_variables, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_HOST ");

    s = settings_with("n1,n2");
    s.host = "n3";
    CU_ASSERT_EQUAL(platform_read(&s, no_variables, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "\"n3\"");
    CU_ASSERT_PTR_NULL(c.hosts);

    s.host = "n1";
    s.interface = "eth0;x";
    CU_ASSERT_EQUAL(platform_read(&s, no_variables, NULL, &c, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_INTERFACE");
    s.interface = NULL;
    CU_ASSERT_EQUAL(platform_read(&s, no_variables, "a b", &c, &err), -1);
    ASSERT_CONTAINS(err.text, "\"a b\"");
    CU_ASSERT_EQUAL(platform_read(&s, no_variables, "", &c, &err), -1);
}

UNIT_SUITE("job.platform", UNIT(no_description_is_one_host),
           UNIT(a_host_alone_is_called_as_its_kernel_says_where_that_is_a_name),
           UNIT(variables_win_over_the_file_and_the_file_over_nothing),
           UNIT(what_a_platform_says_of_one_host_holds_for_it), UNIT(ranks_may_be_as_many_as_cpus),
           UNIT(a_pod_is_stopped_as_kubernetes_does), UNIT(wrong_descriptions_are_errors))
