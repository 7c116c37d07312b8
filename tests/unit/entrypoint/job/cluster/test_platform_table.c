#include "common/file/file.h"
#include "tests/support/platform_reading.h"

#include <stdio.h>
#include <unistd.h>

static void every_platform_is_read(void) {
    static const struct {
        const char *variables[PLATFORM_VARIABLES_MAX];
        const char *expected;
    } cases[] = {
        {{"SLURM_STEP_NODELIST=n[9-11]", "SLURM_NODEID=1", "SLURM_STEP_NUM_TASKS=3",
          "SLURM_GPUS_ON_NODE=8", "SLURM_JOB_ID=42", "SLURM_JOB_NODELIST=n[1-20]"},
         "n9:8 n10*:8 n11:8 42"},
        {{"SLURM_STEP_NODELIST=n7", "SLURM_NODEID=0", "SLURM_STEP_NUM_TASKS=1"}, "alone"},
        {{"CLUSTER_SPEC" PLATFORM_SPEC("workerpool0", "0"), "TF_CONFIG={\"cluster\":{}}"},
         "z* w-0 w-1 job"},
        {{"CLUSTER_SPEC" PLATFORM_SPEC("workerpool1", "1")}, "z w-0 w-1* job"},
        {{"CLUSTER_SPEC" PLATFORM_SPEC("workerpool1", "\"0\"")}, "z w-0* w-1 job"},
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
        CU_ASSERT_STRING_EQUAL(platform_read_as(NULL, cases[i].variables), cases[i].expected);
}

/* Each error names the variable that it is about. */
static void what_cannot_be_used_is_an_error_and_never_alone(void) {
    static const struct {
        const char *variables[PLATFORM_VARIABLES_MAX];
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
        {{"CLUSTER_SPEC" PLATFORM_SPEC("workerpool2", "0")}, "\"workerpool2\" takes no part"},
        {{"CLUSTER_SPEC" PLATFORM_SPEC("workerpool1", "2")},
         "\"index\" is 2; expected less than 2, the hosts of \"workerpool1\""},
        {{"CLUSTER_SPEC" PLATFORM_SPEC("workerpool1", "-1")}, "index"},
        {{"CLUSTER_SPEC" PLATFORM_SPEC("workerpool1", "\"1x\"")}, "index"},
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
        ASSERT_CONTAINS(platform_read_as(NULL, cases[i].variables), cases[i].part);
}

/* Returns the grace period and the number of earlier attempts, "30 s, 1 before", or the error. */
static const char *stops(const char *only, const char *const *variables) {
    static char text[ERROR_TEXT_MAX];
    char *environment[PLATFORM_VARIABLES_MAX + 1] = {0};
    struct platform_description d = {0};
    struct error err = {0};
    for (size_t i = 0; i < PLATFORM_VARIABLES_MAX && variables[i] != NULL; i++)
        environment[i] = (char *)(uintptr_t)variables[i];
    if (platform_table_read(environment, only, &platform_own, &d, &err) >= 0)
        (void)snprintf(text, sizeof(text), "%u s, %u before%s", d.grace, d.before,
                       d.ends == 1764200000 ? ", ends" : "");
    else
        (void)snprintf(text, sizeof(text), "%s", err.text);
    platform_description_done(&d);
    return text;
}

static void stops_and_attempts_are_the_platform_s(void) {
    static const struct {
        const char *only;
        const char *variables[PLATFORM_VARIABLES_MAX];
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
         {"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=0", "SLURM_JOB_END_TIME=1764200000"},
         "30 s, 0 before, ends"},
        {NULL,
         {"SLURM_STEP_NODELIST=n[1-2]", "SLURM_NODEID=0", "SLURM_JOB_END_TIME=UNLIMITED"},
         "SLURM_JOB_END_TIME: "},
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
    CU_ASSERT_STRING_EQUAL(platform_read_as("skypilot", both), "a b* job");
    CU_ASSERT_STRING_EQUAL(platform_read_as("slurm", both), "n1* n2 job");
    ASSERT_CONTAINS(platform_read_as("vertex", both), "RINGMASTER_PLATFORM=vertex");
    static const char *const torch[] = {
        "NNODES=2",         "NODE_RANK=0", "MASTER_ADDR=x", "WORLD_SIZE=3", "RANK=2",
        "NPROC_PER_NODE=2", NULL};
    CU_ASSERT_STRING_EQUAL(platform_read_as("torch", torch), "node-0*:2 node-1:2 job");
    CU_ASSERT_STRING_EQUAL(platform_read_as("pytorchjob", torch), "node-0 node-1 node-2* job");
    CU_ASSERT_STRING_EQUAL(platform_read_as("pai-dlc", torch), "node-0:2 node-1:2 node-2*:2 job");
    CU_ASSERT_STRING_EQUAL(platform_read_as(NULL, torch), "alone");
    static const char *const bare[] = {"WORLD_SIZE=2", "RANK=0", "MASTER_ADDR=x", NULL};
    CU_ASSERT_STRING_EQUAL(platform_read_as("pai-dlc", bare), "node-0* node-1 job");
    CU_ASSERT_TRUE(platform_table_has("tensorflow"));
    CU_ASSERT_FALSE(platform_table_has("Slurm"));
    CU_ASSERT_FALSE(platform_table_has(""));
}

static void lines_of_a_file_are_slots(void) {
    static const char text[] = "# made by nobody\nn2\nn2\n\ntask-1\nn2  slots=4\n";
    char path[4200], variable[4300];
    const char *variables[PLATFORM_VARIABLES_MAX] = {variable, "LSB_JOBID=7"};
    snprintf(path, sizeof(path), "%s/hosts", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
    snprintf(variable, sizeof(variable), "LSB_DJOB_HOSTFILE=%s", path);
    CU_ASSERT_STRING_EQUAL(platform_read_as(NULL, variables), "n2:6 task-1*:1 7");
}

/* Any user may set a host file for mpirun, so that alone is no sign of the operator. The operator's
 * launcher is not one of the listed hosts, which is an error. */
static void an_operator_s_file_lists_others(void) {
    static const char *const file[PLATFORM_VARIABLES_MAX] = {
        "OMPI_MCA_orte_default_hostfile=others"};
    static const char *const launcher[PLATFORM_VARIABLES_MAX] = {
        "OMPI_MCA_orte_default_hostfile=others", "OMPI_MCA_orte_set_default_slots=1"};
    static const char *const worker[PLATFORM_VARIABLES_MAX] = {"OMPI_MCA_orte_default_hostfile=own",
                                                               "OMPI_MCA_orte_set_default_slots=1"};
    CU_ASSERT_EQUAL_FATAL(chdir(unit_temp_dir()), 0);
    CU_ASSERT_EQUAL(file_publish("others", "pi-worker-0\n", 12, 0644, NULL), 0);
    CU_ASSERT_EQUAL(file_publish("own", "task-1.pi slots=1\n", 18, 0644, NULL), 0);
    CU_ASSERT_STRING_EQUAL(platform_read_as(NULL, file), "alone");
    ASSERT_CONTAINS(platform_read_as(NULL, launcher), "runLauncherAsWorker");
    CU_ASSERT_STRING_EQUAL(platform_read_as(NULL, worker), "alone");
}

UNIT_SUITE("job.platform_table", UNIT(every_platform_is_read),
           UNIT(an_operator_s_file_lists_others),
           UNIT(what_cannot_be_used_is_an_error_and_never_alone), UNIT(a_platform_may_be_chosen),
           UNIT(stops_and_attempts_are_the_platform_s), UNIT(lines_of_a_file_are_slots))
