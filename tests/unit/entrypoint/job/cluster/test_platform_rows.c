/* The rows of the table of platforms: each has a line in both tables here, in the same order. */
#include "common/file/file.h"
#include "tests/support/platform_reading.h"

#include <stdio.h>
#include <unistd.h>

static void check_row(size_t number, const char *name, const char *test) {
    const char *row = platform_table_name(number);
    bool good = row != NULL && strcmp(row, name) == 0;
    if (!good)
        printf("%s: line %zu is of %s, row %zu of platform_table.c of %s: both need the same "
               "platforms in the same order\n",
               test, number, name, number, row != NULL ? row : "none");
    CU_ASSERT_FATAL(good); /* all lines after it would differ, too */
}

static void check_last(size_t count, const char *test) {
    const char *row = platform_table_name(count);
    if (row != NULL)
        printf("%s: %s has no line, add one at the end\n", test, row);
    CU_ASSERT_PTR_NULL(row);
}

/* A row without an entry here, or one without a row, fails. What is right and what is wrong, at the
 * least, of every platform; files lie in this process's own folder. */
static void every_row_has_right_and_wrong_data(void) {
    static const struct {
        const char *name;
        const char *right[PLATFORM_VARIABLES_MAX], *hosts;
        const char *wrong[PLATFORM_VARIABLES_MAX], *part;
    } data[] = {
        {"slurm",
         {"SLURM_STEP_NODELIST=gpu[08-09]", "SLURM_NODEID=1"},
         "gpu08 gpu09* job",
         {"SLURM_STEP_NODELIST=gpu[09-08]", "SLURM_NODEID=1"},
         "SLURM_STEP_NODELIST"},
        {"vertex",
         {"CLUSTER_SPEC" PLATFORM_SPEC("workerpool0", "0")},
         "z* w-0 w-1 job",
         {"CLUSTER_SPEC" PLATFORM_SPEC("workerpool0", "1")},
         "\"index\" is 1; expected less than 1, the hosts of \"workerpool0\""},
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
        check_row(i, data[i].name, __func__);
        ASSERT_TEXT(platform_read_as(data[i].name, data[i].right), data[i].hosts);
        ASSERT_CONTAINS(platform_read_as(data[i].name, data[i].wrong), data[i].part);
    }
    check_last(count, __func__);
}

enum { TOLD_SIZE = 256 };

/* TEXT with addresses of hosts' own links in place of those that others reach. */
static const char *link_local(const char *text, char ret[TOLD_SIZE]) {
    (void)snprintf(ret, TOLD_SIZE, "%s", text);
    for (char *at = ret; (at = strstr(at, "fd00")) != NULL;)
        memcpy(at, "fe80", 4);
    return ret;
}

/* Returns the address at which a host of a counted job dials the master. */
static const char *master_of(const char *only, const char *const *variables) {
    static char text[HOST_NAME_SIZE];
    char *environment[PLATFORM_VARIABLES_MAX + 1] = {0};
    struct platform_description d = {0};
    for (size_t i = 0; i < PLATFORM_VARIABLES_MAX && variables[i] != NULL; i++)
        environment[i] = (char *)(uintptr_t)variables[i];
    CU_ASSERT_EQUAL(platform_table_read(environment, only, &platform_own, &d, NULL), 0);
    (void)snprintf(text, sizeof(text), "%s", d.master_at.text);
    platform_description_done(&d);
    return text;
}

/* Each row as IPv6 would be in it, and as it may not be. Without a MASTER a row cannot carry
 * an address, or none of IPv6, and HOSTS say why. */
static void every_row_that_can_carries_ipv6(void) {
    static const struct {
        const char *name;
        const char *variables[PLATFORM_VARIABLES_MAX], *hosts, *master;
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
    char text[PLATFORM_VARIABLES_MAX][TOLD_SIZE];
    CU_ASSERT_EQUAL_FATAL(chdir(unit_temp_dir()), 0);
    CU_ASSERT_EQUAL(file_publish("fd00", file, strlen(file), 0644, NULL), 0);
    CU_ASSERT_EQUAL(file_publish("fe80", link_local(file, text[0]), strlen(file), 0644, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        const char *const *right = data[i].variables;
        const char *wrong[PLATFORM_VARIABLES_MAX] = {0};
        check_row(i, data[i].name, __func__);
        CU_ASSERT_EQUAL(right[0] == NULL, data[i].master == NULL);
        if (data[i].master == NULL)
            continue;
        ASSERT_TEXT(platform_read_as(data[i].name, right), data[i].hosts);
        CU_ASSERT_STRING_EQUAL(master_of(data[i].name, right), data[i].master);
        for (size_t k = 0; k < PLATFORM_VARIABLES_MAX && right[k] != NULL; k++)
            wrong[k] = link_local(right[k], text[k]);
        ASSERT_CONTAINS(platform_read_as(data[i].name, wrong), "is a link-local address");
    }
    check_last(count, __func__);
}

UNIT_SUITE("job.platform_rows", UNIT(every_row_has_right_and_wrong_data),
           UNIT(every_row_that_can_carries_ipv6))
