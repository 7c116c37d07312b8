#include "common/buf.h"
#include "common/file/file.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/job/cluster/platform_table.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct local_names own = {
    .names = {{"task-1"}, {"10.0.0.3"}, {"fd00::3"}}, .count = 3, .has_kernel_name = true};

enum { VARIABLES_MAX = 8 };

/* The hosts of a cluster in its order, the own one with a star, slots behind a colon where there
 * are some; "alone", or the error. */
static const char *read_as(const char *only, const char *const *variables) {
    static char text[ERROR_TEXT_MAX + 512];
    char *environment[VARIABLES_MAX + 1] = {0};
    for (size_t i = 0; i < VARIABLES_MAX && variables[i] != NULL; i++)
        environment[i] = (char *)(uintptr_t)variables[i];
    struct platform_description d = {0};
    struct cluster c = {0};
    struct error err = {0};
    cleanup_buf struct buf said;
    int result = platform_table_read(environment, only, &own, &d, &err);
    if (result == 0 && cluster_make(&d, d.job[0] != '\0' ? d.job : "job", &c, &err) != 0)
        result = -1;
    platform_description_done(&d);
    buf_init(&said, sizeof(text) - 1);
    if (result != 0)
        CU_ASSERT_EQUAL(buf_add_text(&said, result > 0 ? "alone" : err.text, NULL), 0);
    for (size_t i = 0; i < c.count; i++) {
        CU_ASSERT_EQUAL(
            buf_printf(&said, NULL, "%s%s", c.hosts[i].name.text, i == c.self ? "*" : ""), 0);
        if (c.hosts[i].slots > 0)
            CU_ASSERT_EQUAL(buf_printf(&said, NULL, ":%u", c.hosts[i].slots), 0);
        CU_ASSERT_EQUAL(buf_add_text(&said, " ", NULL), 0);
    }
    CU_ASSERT_EQUAL(buf_add_text(&said, c.count > 0 ? c.job : "", NULL), 0);
    memcpy(text, buf_text(&said), said.size + 1);
    cluster_done(&c);
    return text;
}

#define SPEC(type, index)                                                                          \
    "={\"cluster\":{\"workerpool1\":[\"w-0:2222\",\"w-1:2222\"],\"workerpool0\":[\"z:2222\"],"     \
    "\"workerpool2\":[\"r:2222\"]},\"task\":{\"type\":\"" type "\",\"index\":" index               \
    ",\"trial\":\"t\"},\"environment\":\"cloud\"}"

static void every_platform_is_read(void) {
    static const struct {
        const char *variables[VARIABLES_MAX];
        const char *expected;
    } cases[] = {
        {{"SLURM_STEP_NODELIST=n[9-11]", "SLURM_NODEID=1", "SLURM_STEP_NUM_TASKS=3",
          "SLURM_GPUS_ON_NODE=8", "SLURM_JOB_ID=42", "SLURM_JOB_NODELIST=n[1-20]"},
         "n9:8 n10*:8 n11:8 42"},
        {{"SLURM_STEP_NODELIST=n7", "SLURM_NODEID=0", "SLURM_STEP_NUM_TASKS=1"}, "alone"},
        {{"CLUSTER_SPEC" SPEC("workerpool0", "0"), "TF_CONFIG={\"cluster\":{}}"}, "z* w-0 w-1 job"},
        {{"CLUSTER_SPEC" SPEC("workerpool1", "1")}, "z w-0 w-1* job"},
        {{"CLUSTER_SPEC" SPEC("workerpool1", "\"0\"")}, "z w-0* w-1 job"},
        {{"AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.3,10.0.0.5", "AZ_BATCH_MASTER_NODE=10.0.0.5:6000",
          "AZ_BATCH_JOB_ID=a b:c"},
         "10.0.0.5 10.0.0.3* 10.0.0.4 a-b-c"},
        {{"SKYPILOT_NODE_IPS=10.0.0.9\n10.0.0.3\n10.0.0.4\n", "SKYPILOT_NODE_RANK=2",
          "SKYPILOT_NUM_GPUS_PER_NODE=4"},
         "10.0.0.9:4 10.0.0.3:4 10.0.0.4*:4 job"},
        {{"SKYPILOT_NODE_IPS=10.0.0.9", "SKYPILOT_NODE_RANK=0"}, "alone"},
        {{"DSTACK_NODES_IPS=10.0.0.9\n10.0.0.3", "DSTACK_NODE_RANK=0",
          "DSTACK_MASTER_NODE_IP=10.0.0.3", "DSTACK_GPUS_PER_NODE=0"},
         "10.0.0.3 10.0.0.9* job"},
        {{"AZ_BATCH_HOST_LIST=10.0.0.3,fd00::4", "AZ_BATCH_MASTER_NODE=[fd00::4]:6000"},
         "fd00::4 10.0.0.3* job"},
        {{"VC_TASK_HOSTS=task-0.j,task-1.j", "VC_MAIN_HOSTS=main-0.j", "VC_TASK_INDEX=1"},
         "main-0.j task-0.j task-1.j* job"},
        {{"TF_CONFIG={\"cluster\":{\"worker\":[\"b:1\",\"a:1\"],\"ps\":[\"p:1\"],\"chief\":[\"c:"
          "1\"]},"
          "\"task\":{\"type\":\"worker\",\"index\":1}}"},
         "c a* b job"},
        {{"TF_CONFIG={}"}, "TF_CONFIG: no host is listed"},
        {{"AWS_BATCH_JOB_NUM_NODES=3", "AWS_BATCH_JOB_NODE_INDEX=1",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=0",
          "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.7", "AWS_BATCH_JOB_ID=8a7-1#1"},
         "node-0 node-1* node-2 8a7-1"},
        {{"AWS_BATCH_JOB_NUM_NODES=3", "AWS_BATCH_JOB_NODE_INDEX=2",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=2", "AWS_BATCH_JOB_ID=8a7-1#2"},
         "node-2* node-0 node-1 8a7-1"},
        {{"AWS_BATCH_JOB_NUM_NODES=1"}, "alone"},
        {{"PET_NNODES=2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=t-0.t", "PET_NPROC_PER_NODE=auto"},
         "node-0* node-1 job"},
        {{"PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=t-0.t", "PET_NPROC_PER_NODE=4"},
         "node-0:4 node-1*:4 job"},
        {{"NUM_NODES=2", "NODE_RANK=1", "PRIMARY_ADDR=10.0.0.2", "NUM_TRAINERS=8"},
         "node-0:8 node-1*:8 job"},
        {{"NUM_NODES=2", "NODE_RANK=1"}, "alone"},
        {{"AZUREML_NODE_COUNT=2", "NODE_RANK=1", "AZ_BATCH_MASTER_NODE=a"}, "node-0 node-1* job"},
        {{"AZUREML_NODE_COUNT=2", "AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.3"},
         "10.0.0.4 10.0.0.3* job"},
        {{"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=a"}, "alone"},
        {{"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=a", "NPROC_PER_NODE=8"}, "node-0:8 node-1*:8 job"},
        {{"WORLD_SIZE=16", "RANK=1", "MASTER_ADDR=a", "NPROC_PER_NODE=8", "LOCAL_RANK=1"}, "alone"},
        {{"WORLD_SIZE=16", "NODE_RANK=1", "MASTER_ADDR=a", "NPROC_PER_NODE=8"}, "alone"},
        {{"RINGMASTER_COUNT=3", "JOB_COMPLETION_INDEX=1"}, "task-0 task-1* task-2 job"},
        {{"OTHER=1", "SLURM_NNODES=4", "VC_HOSTS=a,b", "SKYPILOT_NODE_IPS="}, "alone"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CU_ASSERT_STRING_EQUAL(read_as(NULL, cases[i].variables), cases[i].expected);
}

/* Each says which variable it is about. */
static void what_cannot_be_used_is_an_error_and_never_alone(void) {
    static const struct {
        const char *variables[VARIABLES_MAX];
        const char *part;
    } cases[] = {
        {{"SLURM_STEP_NODELIST=n[1-"}, "SLURM_STEP_NODELIST"},
        {{"SLURM_STEP_NODELIST=n[1-2]"}, "SLURM_NODEID is not set"},
        {{"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=2"}, "SLURM_NODEID=2"},
        {{"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=x"}, "SLURM_NODEID"},
        {{"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=0", "SLURM_STEP_NUM_TASKS=4"},
         "--ntasks-per-node=1"},
        {{"SLURM_STEP_NODELIST=n1", "SLURM_NODEID=0", "SLURM_STEP_NUM_TASKS=4"},
         "SLURM_STEP_NUM_TASKS=4 on 1 hosts"},
        {{"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=0", "SLURM_GPUS_ON_NODE=many"},
         "SLURM_GPUS_ON_NODE"},
        {{"CLUSTER_SPEC" SPEC("workerpool2", "0")}, "\"workerpool2\" takes no part"},
        {{"CLUSTER_SPEC" SPEC("workerpool1", "2")}, "\"workerpool1\" has no host number 2"},
        {{"CLUSTER_SPEC" SPEC("workerpool1", "-1")}, "index"},
        {{"CLUSTER_SPEC" SPEC("workerpool1", "\"1x\"")}, "index"},
        {{"CLUSTER_SPEC={\"cluster\":{\"workerpool0\":[\"a\",\"b\"]}}"},
         "\"task\" has no \"type\""},
        {{"CLUSTER_SPEC={\"cluster\":{\"workerpool0\":[\"a\",7]}}"}, "\"workerpool0\"[1]"},
        {{"CLUSTER_SPEC={"}, "CLUSTER_SPEC"},
        {{"AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.5"}, "none of its hosts"},
        {{"AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.3", "AZ_BATCH_MASTER_NODE=10.0.0.9:1"},
         "the master, \"10.0.0.9\""},
        {{"AZ_BATCH_HOST_LIST=10.0.0.3,10.0.0.3"}, "listed twice"},
        {{"SKYPILOT_NODE_IPS=10.0.0.9 fe80::1", "SKYPILOT_NODE_RANK=0"}, "SKYPILOT_NODE_IPS"},
        {{"PBS_NODEFILE=/nonexistent/nodes"}, "/nonexistent/nodes"},
        {{"AWS_BATCH_JOB_NUM_NODES=4"}, "AWS_BATCH_JOB_NODE_INDEX is not set"},
        {{"PET_NNODES=1:4", "PET_NODE_RANK=0"}, "PET_NNODES"},
        {{"PET_NNODES=2", "PET_NODE_RANK=1"}, "PET_MASTER_ADDR is not set"},
        {{"PET_NNODES=2", "PET_NODE_RANK=0", "PET_NPROC_PER_NODE=cpus"}, "PET_NPROC_PER_NODE"},
        {{"NUM_NODES=2", "NODE_RANK=2", "PRIMARY_ADDR=10.0.0.2"}, "NUM_NODES=2: NODE_RANK"},
        {{"WORLD_SIZE=2", "RANK=1", "NPROC_PER_NODE=8"}, "MASTER_ADDR is not set"},
        {{"AZUREML_NODE_COUNT=2", "NODE_RANK=1", "AZ_BATCH_MASTER_NODE=:1"}, "MASTER_NODE: "},
        {{"RINGMASTER_COUNT=2"}, "JOB_COMPLETION_INDEX is not set"},
        {{"RINGMASTER_COUNT=2", "JOB_COMPLETION_INDEX=0"}, "does not end with it"},
        {{"PET_NNODES=2", "AWS_BATCH_JOB_NUM_NODES=2"},
         "RINGMASTER_PLATFORM=aws-batch or kubeflow"},
        {{"PET_NNODES=2", "SKYPILOT_NODE_IPS=a b"}, "SKYPILOT_NODE_IPS and PET_NNODES both"},
        {{"SKYPILOT_NODE_IPS=a b", "SLURM_STEP_NODELIST=n[1-2]"}, "RINGMASTER_PLATFORM=slurm"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ASSERT_CONTAINS(read_as(NULL, cases[i].variables), cases[i].part);
}

/* How long a stop may take, and the how many-th attempt this is: "30 s, 1 before", or the error. */
static const char *stops(const char *only, const char *const *variables) {
    static char text[ERROR_TEXT_MAX];
    char *environment[VARIABLES_MAX + 1] = {0};
    struct platform_description d = {0};
    struct error err = {0};
    for (size_t i = 0; i < VARIABLES_MAX && variables[i] != NULL; i++)
        environment[i] = (char *)(uintptr_t)variables[i];
    if (platform_table_read(environment, only, &own, &d, &err) >= 0)
        (void)snprintf(text, sizeof(text), "%u s, %u before", d.grace, d.before);
    else
        (void)snprintf(text, sizeof(text), "%s", err.text);
    platform_description_done(&d);
    return text;
}

static void stops_and_attempts_are_the_platform_s(void) {
    static const struct {
        const char *only;
        const char *variables[VARIABLES_MAX];
        const char *expected;
    } cases[] = {
        {NULL, {"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=0"}, "30 s, 0 before"},
        {NULL,
         {"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=0", "SLURM_RESTART_COUNT=2"},
         "30 s, 2 before"},
        {NULL, {"SLURM_STEP_NODELIST=n1", "SLURM_NODEID=0"}, "30 s, 0 before"},
        {NULL,
         {"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=0", "SLURM_RESTART_COUNT=-1"},
         "SLURM_RESTART_COUNT: "},
        {NULL,
         {"AWS_BATCH_JOB_NUM_NODES=2", "AWS_BATCH_JOB_NODE_INDEX=0",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=0", "AWS_BATCH_JOB_ATTEMPT=1"},
         "30 s, 0 before"},
        {NULL,
         {"AWS_BATCH_JOB_NUM_NODES=2", "AWS_BATCH_JOB_NODE_INDEX=0",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=0", "AWS_BATCH_JOB_ATTEMPT=3"},
         "30 s, 2 before"},
        {NULL,
         {"AWS_BATCH_JOB_NUM_NODES=2", "AWS_BATCH_JOB_NODE_INDEX=0",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=0", "AWS_BATCH_JOB_ATTEMPT=0"},
         "AWS_BATCH_JOB_ATTEMPT: "},
        {NULL,
         {"DSTACK_NODES_IPS=a b", "DSTACK_NODE_RANK=0", "SLURM_RESTART_COUNT=2"},
         "300 s, 0 before"},
        {NULL, {"RINGMASTER_COUNT=2", "JOB_COMPLETION_INDEX=1"}, "30 s, 0 before"},
        {NULL, {"VC_TASK_HOSTS=task-0.j,task-1.j"}, "30 s, 0 before"},
        {NULL, {"PET_NNODES=2", "PET_NODE_RANK=0"}, "30 s, 0 before"},
        {"pytorchjob", {"WORLD_SIZE=2", "RANK=0"}, "30 s, 0 before"},
        {"torch", {"NNODES=2", "NODE_RANK=0"}, "0 s, 0 before"},
        {NULL, {"AZ_BATCH_HOST_LIST=10.0.0.3,10.0.0.4"}, "0 s, 0 before"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ASSERT_CONTAINS(stops(cases[i].only, cases[i].variables), cases[i].expected);
}

static void a_platform_may_be_chosen(void) {
    static const char *const both[] = {"SKYPILOT_NODE_IPS=a b", "SKYPILOT_NODE_RANK=1",
                                       "SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=0", NULL};
    CU_ASSERT_STRING_EQUAL(read_as("skypilot", both), "a b* job");
    CU_ASSERT_STRING_EQUAL(read_as("slurm", both), "n1* n2 job");
    ASSERT_CONTAINS(read_as("vertex", both), "RINGMASTER_PLATFORM=vertex");
    static const char *const torch[] = {
        "NNODES=2",         "NODE_RANK=0", "MASTER_ADDR=x", "WORLD_SIZE=3", "RANK=2",
        "NPROC_PER_NODE=2", NULL};
    CU_ASSERT_STRING_EQUAL(read_as("torch", torch), "node-0*:2 node-1:2 job");
    CU_ASSERT_STRING_EQUAL(read_as("pytorchjob", torch), "node-0 node-1 node-2* job");
    CU_ASSERT_STRING_EQUAL(read_as("pai-dlc", torch), "node-0:2 node-1:2 node-2*:2 job");
    CU_ASSERT_STRING_EQUAL(read_as(NULL, torch), "alone");
    static const char *const bare[] = {"WORLD_SIZE=2", "RANK=0", "MASTER_ADDR=x", NULL};
    CU_ASSERT_STRING_EQUAL(read_as("pai-dlc", bare), "node-0* node-1 job");
    CU_ASSERT_TRUE(platform_table_has("tensorflow"));
    CU_ASSERT_FALSE(platform_table_has("Slurm"));
    CU_ASSERT_FALSE(platform_table_has(""));
}

static void lines_of_a_file_are_slots(void) {
    static const char text[] = "# made by nobody\nn2\nn2\n\ntask-1\nn2  slots=4\n";
    char path[4200], variable[4300];
    const char *variables[VARIABLES_MAX] = {variable, "LSB_JOBID=7"};
    snprintf(path, sizeof(path), "%s/hosts", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
    snprintf(variable, sizeof(variable), "LSB_DJOB_HOSTFILE=%s", path);
    CU_ASSERT_STRING_EQUAL(read_as(NULL, variables), "n2:6 task-1*:1 7");
}

/* A row without an entry here, or one without a row, fails. What is right and what is wrong, at the
 * least, of every platform; files lie in this process's own folder. */
/* The line NUMBER of the table in TEST is of the platform in that row. */
static void check_is_row(size_t number, const char *name, const char *test) {
    const char *row = platform_table_name(number);
    bool good = row != NULL && strcmp(row, name) == 0;
    if (!good)
        printf(
            "%s: line %zu is of %s, row %zu of platform_table.c is %s: both have the same order\n",
            test, number, name, number, row != NULL ? row : "not there");
    CU_ASSERT(good);
}

/* Every row has a line in the table of TEST, which has COUNT. */
static void check_is_last(size_t count, const char *test) {
    const char *row = platform_table_name(count);
    if (row != NULL)
        printf("%s: platform %s has no line: add one, in the order of platform_table.c\n", test,
               row);
    CU_ASSERT_PTR_NULL(row);
}

static void every_row_has_right_and_wrong_data(void) {
    static const struct {
        const char *name;
        const char *right[VARIABLES_MAX], *hosts;
        const char *wrong[VARIABLES_MAX], *part;
    } data[] = {
        {"slurm",
         {"SLURM_STEP_NODELIST=gpu[08-09]", "SLURM_NODEID=1"},
         "gpu08 gpu09* job",
         {"SLURM_STEP_NODELIST=gpu[09-08]", "SLURM_NODEID=1"},
         "SLURM_STEP_NODELIST"},
        {"vertex",
         {"CLUSTER_SPEC" SPEC("workerpool0", "0")},
         "z* w-0 w-1 job",
         {"CLUSTER_SPEC" SPEC("workerpool0", "1")},
         "\"workerpool0\" has no host number 1"},
        {"azure-batch",
         {"AZ_BATCH_HOST_LIST=10.0.0.3,10.0.0.4", "AZ_BATCH_MASTER_NODE=10.0.0.4:6000"},
         "10.0.0.4 10.0.0.3* job",
         {"AZ_BATCH_HOST_LIST=10.0.0.3,10.0.0.4", "AZ_BATCH_MASTER_NODE=:6000"},
         "AZ_BATCH_MASTER_NODE"},
        {"skypilot",
         {"SKYPILOT_NODE_IPS=10.0.0.9\n10.0.0.4\n", "SKYPILOT_NODE_RANK=0"},
         "10.0.0.9* 10.0.0.4 job",
         {"SKYPILOT_NODE_IPS=10.0.0.9\n10.0.0.4\n", "SKYPILOT_NODE_RANK=2"},
         "SKYPILOT_NODE_RANK=2: SKYPILOT_NODE_IPS lists 2 hosts"},
        {"dstack",
         {"DSTACK_NODES_IPS=10.0.0.9\n10.0.0.4", "DSTACK_NODE_RANK=1", "DSTACK_GPUS_PER_NODE=2"},
         "10.0.0.9:2 10.0.0.4*:2 job",
         {"DSTACK_NODES_IPS=10.0.0.9\n10.0.0.4", "DSTACK_NODE_RANK=1",
          "DSTACK_MASTER_NODE_IP=10.0.0.5"},
         "the master, \"10.0.0.5\", is not in the list"},
        {"volcano",
         {"VC_MASTER_HOSTS=m-0.j", "VC_TASK_HOSTS=task-0.j,task-1.j"},
         "m-0.j task-0.j task-1.j* job",
         {"VC_TASK_HOSTS=task-0.j,task-2.j"},
         "VC_TASK_HOSTS: none of its hosts"},
        {"lsf",
         {"LSB_DJOB_HOSTFILE=nodes", "LSB_JOBID=7"},
         "n2:2 task-1*:1 7",
         {"LSB_DJOB_HOSTFILE=others"},
         "LSB_DJOB_HOSTFILE: none of its hosts"},
        {"pbs",
         {"PBS_NODEFILE=nodes", "PBS_JOBID=12.server"},
         "n2:2 task-1*:1 12.server",
         {"PBS_NODEFILE=odd"},
         "PBS_NODEFILE: odd: \"n1\": \"ncpus=2\""},
        {"mpi-operator",
         {"OMPI_MCA_orte_default_hostfile=pods", "OMPI_MCA_orte_set_default_slots=4"},
         "task-0.pi.ns.svc:4 task-1.pi.ns.svc*:4 job",
         {"OMPI_MCA_orte_default_hostfile=others", "OMPI_MCA_orte_set_default_slots=4"},
         "fd00::3): the launcher is one of them with runLauncherAsWorker"},
        {"tensorflow",
         {"TF_CONFIG={\"cluster\":{\"worker\":[\"b:1\",\"a:1\"]},\"task\":{\"type\":\"worker\","
          "\"index\":1}}"},
         "b a* job",
         {"TF_CONFIG={\"cluster\":{\"worker\":[\"b:1\",\"a:1\"],\"ps\":[\"p:1\"]},\"task\":{"
          "\"type\":\"ps\",\"index\":0}}"},
         "TF_CONFIG: a task of type \"ps\" takes no part"},
        {"aws-batch",
         {"AWS_BATCH_JOB_NUM_NODES=2", "AWS_BATCH_JOB_NODE_INDEX=0",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=0"},
         "node-0* node-1 job",
         {"AWS_BATCH_JOB_NUM_NODES=2", "AWS_BATCH_JOB_NODE_INDEX=1",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=0"},
         "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS is not set"},
        {"azure-ml",
         {"AZUREML_NODE_COUNT=2", "NODE_RANK=1", "MASTER_ADDR=n1", "AZ_BATCH_MASTER_NODE=:1"},
         "node-0 node-1* job",
         {"AZUREML_NODE_COUNT=2", "NODE_RANK=2", "MASTER_ADDR=10.0.0.2"},
         "AZUREML_NODE_COUNT=2: NODE_RANK"},
        {"kubeflow",
         {"PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=t-0.t"},
         "node-0 node-1* job",
         {"PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=t 0"},
         "PET_MASTER_ADDR"},
        {"runpod",
         {"NUM_NODES=2", "NODE_RANK=0", "PRIMARY_ADDR=10.0.0.2"},
         "node-0* node-1 job",
         {"NUM_NODES=2", "NODE_RANK=0", "PRIMARY_ADDR=10.0.0.2", "NUM_TRAINERS=257"},
         "NUM_TRAINERS"},
        {"kubernetes",
         {"RINGMASTER_COUNT=2", "JOB_COMPLETION_INDEX=1"},
         "task-0 task-1* job",
         {"RINGMASTER_COUNT=2", "JOB_COMPLETION_INDEX=2"},
         "RINGMASTER_COUNT=2: JOB_COMPLETION_INDEX"},
        {"pytorchjob",
         {"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=t-master-0"},
         "node-0 node-1* job",
         {"WORLD_SIZE=2", "RANK=1"},
         "MASTER_ADDR is not set"},
        {"pai-dlc",
         {"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=dlc-master-0", "NPROC_PER_NODE=8"},
         "node-0:8 node-1*:8 job",
         {"WORLD_SIZE=2", "MASTER_ADDR=dlc-master-0"},
         "RANK is not set"},
        {"torch",
         {"NNODES=2", "NODE_RANK=0", "MASTER_ADDR=a", "NPROC_PER_NODE=gpu"},
         "node-0* node-1 job",
         {"NNODES=1:2", "NODE_RANK=0", "MASTER_ADDR=a"},
         "NNODES"},
    };
    static const char *const files[][2] = {
        {"nodes", "n2\nn2\ntask-1\n"},
        {"others", "n2 slots=4\nn3\n"},
        {"odd", "n1 ncpus=2\n"},
        {"pods", "task-0.pi.ns.svc slots=4\ntask-1.pi.ns.svc slots=4\n"}};
    size_t count = sizeof(data) / sizeof(data[0]);
    CU_ASSERT_EQUAL_FATAL(chdir(unit_temp_dir()), 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        CU_ASSERT_EQUAL(file_publish(files[i][0], files[i][1], strlen(files[i][1]), 0644, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        check_is_row(i, data[i].name, __func__);
        CU_ASSERT_STRING_EQUAL(read_as(data[i].name, data[i].right), data[i].hosts);
        ASSERT_CONTAINS(read_as(data[i].name, data[i].wrong), data[i].part);
    }
    check_is_last(count, __func__);
}

enum { TOLD_SIZE = 256 };

/* TEXT with addresses of hosts' own links in place of those that others reach. */
static const char *link_local(const char *text, char ret[TOLD_SIZE]) {
    (void)snprintf(ret, TOLD_SIZE, "%s", text);
    for (char *at = ret; (at = strstr(at, "fd00")) != NULL;)
        memcpy(at, "fe80", 4);
    return ret;
}

/* Where the master is that a host of a counted job dials. */
static const char *master_of(const char *only, const char *const *variables) {
    static char text[HOST_NAME_SIZE];
    char *environment[VARIABLES_MAX + 1] = {0};
    struct platform_description d = {0};
    for (size_t i = 0; i < VARIABLES_MAX && variables[i] != NULL; i++)
        environment[i] = (char *)(uintptr_t)variables[i];
    CU_ASSERT_EQUAL(platform_table_read(environment, only, &own, &d, NULL), 0);
    (void)snprintf(text, sizeof(text), "%s", d.master_at.text);
    platform_description_done(&d);
    return text;
}

/* Each row as IPv6 would be in it, and as it may not be. Without a MASTER a row cannot carry
 * an address, or none of IPv6, and HOSTS say why. */
static void every_row_that_can_carries_ipv6(void) {
    static const struct {
        const char *name;
        const char *variables[VARIABLES_MAX], *hosts, *master;
    } data[] = {
        {"slurm", {0}, "its hosts are names: brackets hold numbers there", NULL},
        {"vertex",
         {"CLUSTER_SPEC={\"cluster\":{\"workerpool0\":[\"[fd00::4]:2222\"],\"workerpool1\":["
          "\"[fd00::3]:2222\"]},\"task\":{\"type\":\"workerpool1\",\"index\":0}}"},
         "fd00::4 fd00::3* job",
         ""},
        {"azure-batch",
         {"AZ_BATCH_HOST_LIST=fd00::3,fd00::4", "AZ_BATCH_MASTER_NODE=[fd00::4]:6000"},
         "fd00::4 fd00::3* job",
         ""},
        {"skypilot",
         {"SKYPILOT_NODE_IPS=fd00::9\nFD00:0::3\n", "SKYPILOT_NODE_RANK=1"},
         "fd00::9 fd00::3* job",
         ""},
        {"dstack",
         {"DSTACK_NODES_IPS=fd00::9\nfd00::3", "DSTACK_NODE_RANK=0",
          "DSTACK_MASTER_NODE_IP=fd00::3"},
         "fd00::3 fd00::9* job",
         ""},
        {"volcano",
         {"VC_MASTER_HOSTS=fd00::2", "VC_TASK_HOSTS=fd00::3,fd00::4"},
         "fd00::2 fd00::3* fd00::4 job",
         ""},
        {"lsf", {"LSB_DJOB_HOSTFILE=fd00"}, "fd00::4:2 fd00::3*:3 job", ""},
        {"pbs", {"PBS_NODEFILE=fd00"}, "fd00::4:2 fd00::3*:3 job", ""},
        {"mpi-operator",
         {"OMPI_MCA_orte_default_hostfile=fd00", "OMPI_MCA_orte_set_default_slots=4"},
         "fd00::4:2 fd00::3*:3 job",
         ""},
        {"tensorflow",
         {"TF_CONFIG={\"cluster\":{\"worker\":[\"[fd00::4]:1\",\"fd00::3\"]},\"task\":{\"type\":"
          "\"worker\",\"index\":1}}"},
         "fd00::4 fd00::3* job",
         ""},
        {"aws-batch", {0}, "its variable is of an IPv4 address, by its name", NULL},
        {"azure-ml",
         {"AZUREML_NODE_COUNT=2", "NODE_RANK=1", "AZ_BATCH_MASTER_NODE=[fd00::2]:6000"},
         "node-0 node-1* job",
         "fd00::2"},
        {"kubeflow",
         {"PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=[fd00::2]:29400"},
         "node-0 node-1* job",
         "fd00::2"},
        {"runpod",
         {"NUM_NODES=2", "NODE_RANK=1", "PRIMARY_ADDR=[fd00::2]"},
         "node-0 node-1* job",
         "fd00::2"},
        {"kubernetes", {0}, "its hosts are names", NULL},
        {"pytorchjob",
         {"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=fd00:0::2"},
         "node-0 node-1* job",
         "fd00::2"},
        {"pai-dlc",
         {"WORLD_SIZE=2", "RANK=1", "MASTER_ADDR=fd00::2", "NPROC_PER_NODE=2"},
         "node-0:2 node-1*:2 job",
         "fd00::2"},
        {"torch",
         {"NNODES=2", "NODE_RANK=1", "MASTER_ADDR=fd00::2"},
         "node-0 node-1* job",
         "fd00::2"},
    };
    static const char file[] = "fd00::4\n[fd00::3] slots=3\nfd00::4\n";
    size_t count = sizeof(data) / sizeof(data[0]);
    char text[VARIABLES_MAX][TOLD_SIZE];
    CU_ASSERT_EQUAL_FATAL(chdir(unit_temp_dir()), 0);
    CU_ASSERT_EQUAL(file_publish("fd00", file, strlen(file), 0644, NULL), 0);
    CU_ASSERT_EQUAL(file_publish("fe80", link_local(file, text[0]), strlen(file), 0644, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        const char *const *right = data[i].variables;
        const char *wrong[VARIABLES_MAX] = {0};
        check_is_row(i, data[i].name, __func__);
        CU_ASSERT_EQUAL(right[0] == NULL, data[i].master == NULL);
        if (data[i].master == NULL)
            continue;
        CU_ASSERT_STRING_EQUAL(read_as(data[i].name, right), data[i].hosts);
        CU_ASSERT_STRING_EQUAL(master_of(data[i].name, right), data[i].master);
        for (size_t k = 0; k < VARIABLES_MAX && right[k] != NULL; k++)
            wrong[k] = link_local(right[k], text[k]);
        ASSERT_CONTAINS(read_as(data[i].name, wrong), "is a link-local address");
    }
    check_is_last(count, __func__);
}

/* What anybody may set for mpirun is no mark of the operator, and its launcher is not alone. */
static void an_operator_s_file_lists_others(void) {
    static const char *const file[VARIABLES_MAX] = {"OMPI_MCA_orte_default_hostfile=others"};
    static const char *const launcher[VARIABLES_MAX] = {"OMPI_MCA_orte_default_hostfile=others",
                                                        "OMPI_MCA_orte_set_default_slots=1"};
    static const char *const worker[VARIABLES_MAX] = {"OMPI_MCA_orte_default_hostfile=own",
                                                      "OMPI_MCA_orte_set_default_slots=1"};
    CU_ASSERT_EQUAL_FATAL(chdir(unit_temp_dir()), 0);
    CU_ASSERT_EQUAL(file_publish("others", "pi-worker-0\n", 12, 0644, NULL), 0);
    CU_ASSERT_EQUAL(file_publish("own", "task-1.pi slots=1\n", 18, 0644, NULL), 0);
    CU_ASSERT_STRING_EQUAL(read_as(NULL, file), "alone");
    ASSERT_CONTAINS(read_as(NULL, launcher), "runLauncherAsWorker");
    CU_ASSERT_STRING_EQUAL(read_as(NULL, worker), "alone");
}

UNIT_SUITE("job.platform_table", UNIT(every_platform_is_read),
           UNIT(every_row_has_right_and_wrong_data), UNIT(every_row_that_can_carries_ipv6),
           UNIT(an_operator_s_file_lists_others),
           UNIT(what_cannot_be_used_is_an_error_and_never_alone), UNIT(a_platform_may_be_chosen),
           UNIT(stops_and_attempts_are_the_platform_s), UNIT(lines_of_a_file_are_slots))
