#include "entrypoint/job/cluster/platform_unsupported.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 8 };

/* TEXT is a list of NAME=VALUE with '|' between. */
static int check(const char *text, struct warnings *warnings, struct error *err) {
    char copy[2048];
    char *environment[WORDS_MAX + 1] = {0};
    *warnings = (struct warnings){0};
    (void)snprintf(copy, sizeof(copy), "%s", text);
    size_t count = 0;
    for (char *at = copy; at != NULL && count < WORDS_MAX;) {
        environment[count++] = at;
        at = strchr(at, '|');
        if (at != NULL)
            *at++ = '\0';
    }
    return platform_unsupported_check(environment, warnings, err);
}

static void several_are_an_error_that_names_the_variables_and_the_ways_out(void) {
    static const struct {
        const char *environment, *platform, *shown, *count;
    } cases[] = {
        {"AWS_BATCH_JOB_NUM_NODES=4|AWS_BATCH_JOB_NODE_INDEX=2|AWS_BATCH_JOB_MAIN_NODE_INDEX=0",
         "AWS Batch", "AWS_BATCH_JOB_NUM_NODES=4, AWS_BATCH_JOB_NODE_INDEX=2", "a job of 4"},
        {"SLURM_NNODES=2|SLURM_NODEID=1", "Slurm", "SLURM_NNODES=2, SLURM_NODEID=1", "a job of 2"},
        {"SLURM_JOB_NUM_NODES=3", "Slurm", "SLURM_JOB_NUM_NODES=3", "a job of 3"},
        {"SLURM_STEP_NUM_NODES=1|SLURM_STEP_NUM_TASKS=4|SLURM_PROCID=3", "Slurm",
         "SLURM_STEP_NUM_TASKS=4, SLURM_PROCID=3", "a job of 4"},
        {"OMPI_COMM_WORLD_SIZE=2", "mpirun", "OMPI_COMM_WORLD_SIZE=2", "a job of 2"},
        {"PMI_RANK=0|PMI_SIZE=8", "mpirun", "PMI_SIZE=8", "a job of 8"},
        {"PET_NNODES=1:4|PET_NODE_RANK=0", "torchrun", "PET_NNODES=1:4", "a job of 4"},
        {"AZUREML_NODE_COUNT=2|NODE_RANK=1", "Azure ML", "NODE_RANK=1", "a job of 2"},
        {"AZ_BATCH_HOST_LIST=10.0.0.4,10.0.0.5", "Azure Batch", "AZ_BATCH_HOST_LIST", "several"},
        {"SKYPILOT_NODE_IPS=10.0.0.1\n10.0.0.2\n", "SkyPilot", "SKYPILOT_NODE_IPS", "several"},
        {"SKYPILOT_NUM_NODES=2|SKYPILOT_NODE_RANK=1", "SkyPilot", "SKYPILOT_NODE_RANK=1", "2"},
        {"DSTACK_NODES_NUM=2|DSTACK_NODE_RANK=0", "dstack", "DSTACK_NODES_NUM=2", "a job of 2"},
        {"DSTACK_NODES_IPS=10.0.0.1\n10.0.0.2", "dstack", "DSTACK_NODES_IPS", "several"},
        {"VC_MASTER_NUM=1|VC_WORKER_NUM=2", "Volcano", "VC_WORKER_NUM=2", "a job of 3"},
        {"VC_MASTER_HOSTS=m-0.m|VC_WORKER_HOSTS=w-0.w", "Volcano", "VC_WORKER_HOSTS", "several"},
        {"NUM_NODES=2|PRIMARY_ADDR=10.65.0.2|NODE_RANK=0", "RunPod", "NUM_NODES=2", "a job of 2"},
        {"MASTER_ADDR=job-master-0|WORLD_SIZE=4|RANK=3", "torch", "WORLD_SIZE=4, RANK=3",
         "a job of 4"},
        {"MASTER_ADDR=10.0.0.1|NODE_RANK=1|NNODES=2", "torch", "NNODES=2, NODE_RANK=1",
         "a job of 2"},
        {"LSB_HOSTS=hostA hostA hostB", "LSF", "LSB_HOSTS", "several"},
        {"PBS_NUM_NODES=2", "PBS", "PBS_NUM_NODES=2", "a job of 2"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct warnings warnings;
        struct error err = {0};
        CU_ASSERT_EQUAL(check(cases[i].environment, &warnings, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, cases[i].platform);
        ASSERT_CONTAINS(err.text, cases[i].shown);
        ASSERT_CONTAINS(err.text, cases[i].count);
        ASSERT_CONTAINS(err.text, "RINGMASTER_HOSTS");
        ASSERT_CONTAINS(err.text, "RINGMASTER_PLATFORM=none");
    }
}

static void one_member_alone_and_names_of_others_are_no_cluster(void) {
    static const char *const fine[] = {
        "PATH=/bin",
        "AWS_BATCH_JOB_NUM_NODES=1|AWS_BATCH_JOB_NODE_INDEX=0",
        "SLURM_STEP_NUM_NODES=1|SLURM_NNODES=4|SLURM_NODEID=0", /* srun -N1 in a larger job */
        "WORLD_SIZE=4",
        "NNODES=4",
        "NUM_NODES=4",
        "MASTER_ADDR=127.0.0.1|WORLD_SIZE=1|RANK=0",
        "MASTER_ADDR=10.0.0.1|WORLD_SIZE=1|RANK=0|NODE_RANK=0|GROUP_RANK=0|GROUP_WORLD_SIZE=1",
        "PET_NNODES=1",
        "PET_NNODES=4:1",
        "PET_NNODES=0",
        /* What is read wherever it is set: others of that list may take no part. */
        "TF_CONFIG={\"cluster\":{\"chief\":[\"a:1\"],\"evaluator\":[\"b:1\"]}}",
        "CLUSTER_SPEC={\"cluster\":{\"workerpool0\":[\"a:1\"],\"workerpool3\":[\"b:1\"]}}",
        "AZ_BATCH_HOST_LIST=10.0.0.4",
        "LSB_HOSTS=hostA hostA",
        "AWS_BATCH_JOB_NUM_NODES=",
        "XVC_MASTER_NUM=2|VC__NUM=1",
        "JOB_COMPLETION_INDEX=0|RINGMASTER_COUNT=1",
        "JOB_COMPLETION_INDEX=0|PET_NNODES=1|PET_NODE_RANK=0",
    };
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
        struct warnings warnings;
        struct error err = {0};
        CU_ASSERT_EQUAL(check(fine[i], &warnings, &err), 0);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_EQUAL(warnings.count, 0);
    }
}

static void what_should_count_and_cannot_be_read_is_an_error(void) {
    static const char *const bad[] = {"AWS_BATCH_JOB_NUM_NODES=many",
                                      "AWS_BATCH_JOB_NUM_NODES=-1",
                                      "AWS_BATCH_JOB_NUM_NODES=2147483648",
                                      "PET_NNODES=1:",
                                      "PET_NNODES=1:4:8",
                                      "PET_NNODES=:",
                                      "PBS_NODEFILE=/proc"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct warnings warnings;
        struct error err = {0};
        char name[40] = {0};
        memcpy(name, bad[i], strcspn(bad[i], "="));
        CU_ASSERT_EQUAL(check(bad[i], &warnings, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, name);
        ASSERT_CONTAINS(err.text, "RINGMASTER_PLATFORM=none");
    }
}

static void an_index_without_a_count_is_an_error_that_names_it(void) {
    static const char *const indices[] = {"JOB_COMPLETION_INDEX=0",
                                          "JOB_COMPLETION_INDEX=1",
                                          "JOB_COMPLETION_INDEX=3|WORLD_SIZE=8",
                                          "JOB_COMPLETION_INDEX=3|NNODES=4",
                                          "NOMAD_ALLOC_INDEX=1",
                                          "SLURM_NODEID=0",
                                          "NODE_RANK=3",
                                          "RANK=1",
                                          "PET_NODE_RANK=0",
                                          "VK_TASK_INDEX=1",
                                          "SKYPILOT_NODE_RANK=0",
                                          "DSTACK_NODE_RANK=1",
                                          "PMI_RANK=1",
                                          "OMPI_COMM_WORLD_RANK=1",
                                          "VC_TASK_INDEX=0",
                                          "PMI_RANK=x",
                                          "AWS_BATCH_JOB_NODE_INDEX=2",
                                          "AZ_BATCH_IS_CURRENT_NODE_MASTER=true"};
    for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
        struct warnings warnings;
        struct error err = {0};
        CU_ASSERT_EQUAL(check(indices[i], &warnings, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        char index[64] = {0};
        memcpy(index, indices[i], strcspn(indices[i], "|"));
        ASSERT_CONTAINS(err.text, index);
        ASSERT_CONTAINS(err.text, "RINGMASTER_HOSTS");
        ASSERT_CONTAINS(err.text, "RINGMASTER_PLATFORM=none");
    }
    struct warnings warnings;
    struct error err = {0};
    CU_ASSERT_EQUAL(check("JOB_COMPLETION_INDEX=0", &warnings, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_COUNT");
}

/* Every allocation of Nomad has an index, and RANK may be anybody's. */
static void the_first_may_be_alone_with_a_warning(void) {
    static const char *const indices[] = {"NOMAD_ALLOC_INDEX=0", "RANK=0", "RANK=gold",
                                          "NODE_RANK=0"};
    for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
        struct warnings warnings;
        CU_ASSERT_EQUAL(check(indices[i], &warnings, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(warnings.count, 1);
        ASSERT_CONTAINS(warnings.text[0], indices[i]);
        ASSERT_CONTAINS(warnings.text[0], "RINGMASTER_HOSTS");
        ASSERT_CONTAINS(warnings.text[0], "RINGMASTER_PLATFORM=none");
    }
}

static void a_file_of_hosts_counts_names_and_not_lines(void) {
    char path[512];
    char variable[600];
    struct warnings warnings;
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/nodes", unit_temp_dir());
    (void)snprintf(variable, sizeof(variable), "PBS_NODEFILE=%s", path);
    CU_ASSERT_EQUAL(check(variable, &warnings, &err), 0);
    CU_ASSERT_EQUAL_FATAL(warnings.count, 1);
    ASSERT_CONTAINS(warnings.text[0], "not here");
    static const char one[] = "# two ranks\nnode1\nnode1 slots=2\n\n";
    CU_ASSERT_EQUAL(file_publish(path, one, strlen(one), 0600, NULL), 0);
    CU_ASSERT_EQUAL(check(variable, &warnings, &err), 0);
    CU_ASSERT_EQUAL(warnings.count, 0);
    static const char two[] = "node1\nnode2\n";
    CU_ASSERT_EQUAL(file_publish(path, two, strlen(two), 0600, NULL), 0);
    CU_ASSERT_EQUAL(check(variable, &warnings, &err), -1);
    ASSERT_CONTAINS(err.text, "PBS_NODEFILE");
}

UNIT_SUITE("job.platform_unsupported",
           UNIT(several_are_an_error_that_names_the_variables_and_the_ways_out),
           UNIT(one_member_alone_and_names_of_others_are_no_cluster),
           UNIT(what_should_count_and_cannot_be_read_is_an_error),
           UNIT(an_index_without_a_count_is_an_error_that_names_it),
           UNIT(the_first_may_be_alone_with_a_warning),
           UNIT(a_file_of_hosts_counts_names_and_not_lines))
