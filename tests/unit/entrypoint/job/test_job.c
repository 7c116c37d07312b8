#include "common/file/file.h"
#include "common/text/redact.h"
#include "entrypoint/job/job.h"
#include "tests/support/beside.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char base[4200];
static char path_variable[] = "PATH=/usr/bin:/bin";

static void write_config(const char *name, const char *text) {
    char path[4400];
    snprintf(path, sizeof(path), "%s/input/config", base + strlen("SAGEMAKER_BASE_DIR="));
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    snprintf(path, sizeof(path), "%s/input/config/%s", base + strlen("SAGEMAKER_BASE_DIR="), name);
    CU_ASSERT_EQUAL(file_publish(path, text, strlen(text), 0644, NULL), 0);
}

static void use_base(const char *name) {
    snprintf(base, sizeof(base), "SAGEMAKER_BASE_DIR=%s/%s", unit_temp_dir(), name);
}

static const char *const sleeper[] = {"--", "sleep", "1", NULL};

static void a_sagemaker_job_is_read_whole(void) {
    use_base("whole");
    write_config("resourceconfig.json",
                 "{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\"]}");
    write_config("hyperparameters.json", "{\"lr\":\"0.1\",\"api-token\":\"tell-nobody\","
                                         "\"sagemaker_mpi_num_of_processes_per_host\":\"3\","
                                         "\"sagemaker_job_name\":\"\\\"job-1\\\"\","
                                         "\"sagemaker_mpi_custom_mpi_options\":\"-x A=b\"}");
    write_config("inputdataconfig.json", "{\"train\":{\"TrainingInputMode\":\"File\"}}");
    char *environment[] = {base, path_variable, NULL};
    struct job job;
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, NULL), 0);
    CU_ASSERT_EQUAL(cluster_ranks(&job.cluster), 6);
    CU_ASSERT_STRING_EQUAL(job.cluster.job, "job-1");
    CU_ASSERT_EQUAL(job.channels.count, 1);
    CU_ASSERT_EQUAL(job.ports.control, 7070);
    CU_ASSERT_EQUAL(job.ports.data_needed, 3);
    CU_ASSERT_STRING_EQUAL(job.program.argv.items[1], "1");
    cleanup_buf struct buf redacted;
    buf_init(&redacted, 64);
    CU_ASSERT_EQUAL(redact_text(&redacted, "token tell-nobody", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&redacted), "token ***");
    redact_done();
    CU_ASSERT_EQUAL_FATAL(job.warnings.count, 1);
    ASSERT_CONTAINS(job.warnings.text[0], "2 hyperparameters are not passed to a program that is "
                                          "named after \"--\", the first is \"api-token\"");
    CU_ASSERT_STRING_EQUAL(job.request.mpi_options.options, "-x A=b");
    job_done(&job);

    char name[] = "TRAINING_JOB_NAME=job-2";
    char *named[] = {base, path_variable, name, NULL};
    CU_ASSERT_EQUAL(job_read(sleeper, named, &job, NULL), 0);
    CU_ASSERT_STRING_EQUAL(job.cluster.job, "job-2");
    job_done(&job);
}

static void nothing_at_all_is_one_host_with_a_rank_or_more(void) {
    use_base("nothing");
    char *environment[] = {base, path_variable, NULL};
    struct job job;
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, NULL), 0);
    CU_ASSERT_EQUAL(job.cluster.count, 1);
    CU_ASSERT(cluster_ranks(&job.cluster) >= 1);
    CU_ASSERT_EQUAL(job.warnings.count, 0);
    job_done(&job);
}

static void a_host_that_another_platform_counts_among_several_is_not_alone(void) {
    use_base("counted");
    char count[] = "AWS_BATCH_JOB_NUM_NODES=4", none[] = "RINGMASTER_PLATFORM=none";
    char hosts[] = "RINGMASTER_HOSTS=a,b", host[] = "RINGMASTER_HOST=a";
    char *counted[] = {base, path_variable, count, NULL};
    char *told[] = {base, path_variable, count, none, NULL};
    char *described[] = {base, path_variable, count, hosts, host, NULL};
    struct job job;
    struct error err = {0};
    CU_ASSERT_EQUAL(job_read(sleeper, counted, &job, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "AWS_BATCH_JOB_NUM_NODES=4");
    CU_ASSERT_EQUAL(job.ports.control, 0);
    job_done(&job);
    CU_ASSERT_EQUAL(job_read(sleeper, told, &job, &err), 0);
    CU_ASSERT_EQUAL(job.cluster.count, 1);
    job_done(&job);
    CU_ASSERT_EQUAL(job_read(sleeper, described, &job, &err), 0);
    CU_ASSERT_EQUAL(job.cluster.count, 2);
    job_done(&job);
    write_config("resourceconfig.json", "{\"current_host\":\"algo-1\",\"hosts\":[\"algo-1\"]}");
    CU_ASSERT_EQUAL(job_read(sleeper, counted, &job, &err), 0);
    job_done(&job);
}

/* The other tasks of its job do something else and take no part in the training. */
static void a_lone_trainer_beside_others_runs_and_they_do_not(void) {
#define TASK(type)                                                                                 \
    "TF_CONFIG={\"cluster\":{\"chief\":[\"a:2222\"],\"evaluator\":[\"b:2222\"]},"                  \
    "\"task\":{\"type\":\"" type "\",\"index\":0}}"
    use_base("lone");
    char chief[] = TASK("chief"), evaluator[] = TASK("evaluator");
    char platform[] = "RINGMASTER_PLATFORM=tensorflow";
    char *trains[] = {base, path_variable, chief, NULL};
    char *others[][5] = {{base, path_variable, evaluator, NULL},
                         {base, path_variable, evaluator, platform, NULL}};
    struct job job;
    struct error err = {0};
    CU_ASSERT_EQUAL(job_read(sleeper, trains, &job, &err), 0);
    CU_ASSERT_EQUAL(job.cluster.count, 1);
    job_done(&job);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        CU_ASSERT_EQUAL(job_read(sleeper, others[i], &job, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "\"evaluator\" takes no part");
        job_done(&job);
    }
}

/* A variable that says there are several hosts counts even if the platform's own list has one. */
static void a_host_that_its_platform_lists_alone_may_be_one_of_many_all_the_same(void) {
    use_base("step");
    char list[] = "SLURM_STEP_NODELIST=n1", size[] = "OMPI_COMM_WORLD_SIZE=4";
    char *environment[] = {base, path_variable, list, size, NULL};
    struct job job;
    struct error err = {0};
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, &err), -1);
    ASSERT_CONTAINS(err.text, "OMPI_COMM_WORLD_SIZE=4");
    job_done(&job);
}

static char folder_of_self[PATH_MAX], trainer[PATH_MAX + 16];

/* Returns whether there is a trainer beside this program. */
static bool has_trainer(void) {
    CU_ASSERT_EQUAL_FATAL(file_self(folder_of_self, sizeof(folder_of_self), NULL), 0);
    *strrchr(folder_of_self, '/') = '\0';
    snprintf(trainer, sizeof(trainer), "%s/ringtrain", folder_of_self);
    return access(trainer, X_OK) == 0;
}

/* An image has one version of both; a trainer on PATH may be another. */
static void the_trainer_beside_this_program_comes_first(void) {
    static const char *const no_words[] = {NULL};
    use_base("trainer");
    char *environment[] = {base, path_variable, NULL};
    struct job job = {0};
    struct error err = {0};
    if (has_trainer()) {
        CU_ASSERT_EQUAL_FATAL(job_read(no_words, environment, &job, &err), 0);
        CU_ASSERT_STRING_EQUAL(job.program.argv.items[0], trainer);
        CU_ASSERT_STRING_EQUAL(job.program.argv.items[1], "train");
    } else {
        CU_ASSERT_EQUAL(job_read(no_words, environment, &job, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
        ASSERT_CONTAINS(err.text, "ringtrain");
        CU_ASSERT_EQUAL(beside_run("ringtrain", "#!/bin/sh\n", NULL), 0);
    }
    job_done(&job);
}

static void a_launcher_within_a_program_of_a_job_warns(void) {
    use_base("within");
    char run[] = "RINGMASTER_RUN_ID=0123456789abcdef";
    char *environment[] = {base, path_variable, run, NULL};
    struct job job;
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(job.warnings.count, 1);
    ASSERT_CONTAINS(job.warnings.text[0], "inside a program that another ringmaster started");
    job_done(&job);
}

static void names_that_are_no_flags_are_a_warning(void) {
    use_base("names");
    write_config("hyperparameters.json", "{\"a b\":\"1\",\"-\":\"2\",\"lr\":\"3\"}");
    char *environment[] = {base, path_variable, NULL};
    struct job job;
    struct error err = {0};
    static const char *const flags[] = {"--lr", "1", NULL};
    (void)job_read(flags, environment, &job, &err); /* there may be no trainer here */
    CU_ASSERT_EQUAL_FATAL(job.warnings.count, 1);
    ASSERT_CONTAINS(job.warnings.text[0], "2 hyperparameters have names that are no flag's");
    job_done(&job);
}

static void a_wrong_program_leaves_the_cluster_known(void) {
    use_base("wrong");
    write_config("resourceconfig.json",
                 "{\"current_host\":\"algo-1\",\"hosts\":[\"algo-1\",\"algo-2\"]}");
    static const char *const absent[] = {"--", "no-such-program", NULL};
    char *environment[] = {base, path_variable, NULL};
    struct job job;
    struct error err = {0};
    CU_ASSERT_EQUAL(job_read(absent, environment, &job, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
    CU_ASSERT_EQUAL(job.cluster.count, 2);
    CU_ASSERT_EQUAL(job.ports.control, 7070);
    job_done(&job);
    write_config("inputdataconfig.json", "{\"train\":{\"TrainingInputMode\":\"Pipe\"}}");
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, &err), 0);
    job_done(&job);
}

/* The cluster is read all the same, so that the host can join and report the error. */
static void going_on_without_the_first_host_needs_who_lets_it(void) {
    char hosts[] = "RINGMASTER_HOSTS=a,b,c", host[] = "RINGMASTER_HOST=b",
         failover[] = "RINGMASTER_FAILOVER=1", shrink[] = "RINGMASTER_SHRINK=1",
         restarts[] = "RINGMASTER_RESTARTS=1";
    char count[] = "AWS_BATCH_JOB_NUM_NODES=3", index[] = "AWS_BATCH_JOB_NODE_INDEX=1",
         at[] = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.7",
         id[] = "AWS_BATCH_JOB_ID=8a7-1#1", nodes[] = "AWS_BATCH_JOB_MAIN_NODE_INDEX=0";
    char *good[] = {base, path_variable, hosts, host, failover, shrink, restarts, NULL};
    char *no_restarts[] = {base, path_variable, hosts, host, failover, shrink, NULL};
    char *no_shrink[] = {base, path_variable, hosts, host, failover, restarts, NULL};
    char *batch[] = {base,  path_variable, count,  index,    at,  id,
                     nodes, failover,      shrink, restarts, NULL};
    const struct {
        char **environment;
        const char *expected; /* NULL: there is no error */
    } cases[] = {{good, NULL},
                 {no_restarts, "RINGMASTER_FAILOVER=1 needs RINGMASTER_RESTARTS"},
                 {no_shrink, "RINGMASTER_FAILOVER=1 needs RINGMASTER_SHRINK=1"},
                 {batch, "aws-batch, ends a job with its first host's container"}};
    use_base("failover");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job job;
        struct error err = {0};
        CU_ASSERT_EQUAL(job_read(sleeper, cases[i].environment, &job, &err),
                        cases[i].expected == NULL ? 0 : -1);
        if (cases[i].expected != NULL) {
            CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
            ASSERT_CONTAINS(err.text, cases[i].expected);
        }
        CU_ASSERT_EQUAL(job.cluster.count, 3); /* so that it can tell the others */
        job_done(&job);
    }
}

/* Hosts that know only how many they are get the others' addresses from the master. */
static void what_is_passed_on_needs_no_names(void) {
    char hosts[] = "RINGMASTER_HOSTS=a,b,c", host[] = "RINGMASTER_HOST=b",
         once[] = "RINGMASTER_FETCH_ONCE=1";
    char count[] = "AWS_BATCH_JOB_NUM_NODES=3", index[] = "AWS_BATCH_JOB_NODE_INDEX=1",
         at[] = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.7",
         id[] = "AWS_BATCH_JOB_ID=8a7-1#1", nodes[] = "AWS_BATCH_JOB_MAIN_NODE_INDEX=0";
    char *named[] = {base, path_variable, hosts, host, once, NULL};
    char *counted[] = {base, path_variable, count, index, at, id, nodes, once, NULL};
    struct job job;
    struct error err = {0};
    use_base("once");
    CU_ASSERT_EQUAL(job_read(sleeper, named, &job, &err), 0);
    CU_ASSERT_TRUE(job.settings.fetch_once);
    job_done(&job);
    CU_ASSERT_EQUAL(job_read(sleeper, counted, &job, &err), 0);
    CU_ASSERT_TRUE(job.settings.fetch_once && job.cluster.counted);
    CU_ASSERT_EQUAL(job.cluster.count, 3);
    job_done(&job);
}

static void a_wrong_variable_leaves_the_cluster_known(void) {
    char hosts[] = "RINGMASTER_HOSTS=a:2,b", host[] = "RINGMASTER_HOST=b",
         wrong[] = "RINGMASTER_RESTARTS=many", worse[] = "RINGMASTER_NO_SUCH=1",
         port[] = "RINGMASTER_PORT=9000";
    char *environment[] = {base, path_variable, wrong, worse, hosts, host, port, NULL};
    struct job job;
    struct error err = {0};
    use_base("variable");
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "RINGMASTER_RESTARTS"); /* the first error */
    CU_ASSERT_EQUAL(job.cluster.count, 2);
    CU_ASSERT_EQUAL(job.cluster.self, 1);
    CU_ASSERT_EQUAL(job.ports.control, 9000);
    job_done(&job);
}

static void wrong_hyperparameters_leave_the_cluster_known(void) {
    static const char *const contents[] = {
        "{\"lr\": ", "{\"sagemaker_mpi_num_of_processes_per_host\": \"many\"}"};
    static const char *const words[] = {"hyperparameters.json", "processes_per_host"};
    char name[] = "TRAINING_JOB_NAME=job-2";
    char *environment[] = {base, path_variable, name, NULL};
    use_base("parameters");
    write_config("resourceconfig.json",
                 "{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\"]}");
    for (size_t i = 0; i < 2; i++) {
        struct job job;
        struct error err = {0};
        write_config("hyperparameters.json", contents[i]);
        CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, words[i]);
        CU_ASSERT_EQUAL(job.cluster.count, 2);
        CU_ASSERT_STRING_EQUAL(job.cluster.job, "job-2");
        CU_ASSERT_EQUAL(job.ports.control, 7070);
        CU_ASSERT_EQUAL(cluster_ranks(&job.cluster) % 2, 0);
        CU_ASSERT(cluster_ranks(&job.cluster) > 0);
        job_done(&job);
    }
}

static void ranks_of(const char *parameters, int result, size_t ranks, unsigned last) {
    char *environment[] = {base, path_variable, NULL};
    struct job job;
    struct error err = {0};
    write_config("hyperparameters.json", parameters);
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, &err), result);
    if (result == 0) {
        CU_ASSERT_EQUAL(cluster_ranks(&job.cluster), ranks);
        CU_ASSERT_EQUAL(job.cluster.hosts[job.cluster.count - 1].slots, last);
    } else {
        ASSERT_CONTAINS(err.text, "sagemaker_mpi_num_processes");
    }
    job_done(&job);
}

static void a_number_of_all_processes_wins(void) {
    use_base("processes");
    write_config("resourceconfig.json",
                 "{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\"]}");
    ranks_of("{\"sagemaker_mpi_num_processes\":\"7\"}", 0, 7, 3);
    ranks_of("{\"sagemaker_mpi_num_processes\":7,"
             "\"sagemaker_mpi_num_of_processes_per_host\":\"6\"}",
             0, 7, 1);
    ranks_of("{\"sagemaker_mpi_num_processes\":\"4\","
             "\"sagemaker_mpi_num_of_processes_per_host\":\"2\"}",
             0, 4, 2);
    ranks_of("{\"sagemaker_mpi_num_processes\":\"5\","
             "\"sagemaker_mpi_num_of_processes_per_host\":\"2\"}",
             -1, 0, 0);
    ranks_of("{\"sagemaker_mpi_num_processes\":\"1\"}", -1, 0, 0);
    ranks_of("{\"sagemaker_mpi_num_processes\":\"2\","
             "\"sagemaker_mpi_num_of_processes_per_host\":\"2\"}",
             -1, 0, 0);
    ranks_of("{\"sagemaker_mpi_num_processes\":\"0\"}", -1, 0, 0);
}

static void a_host_outside_the_distribution_runs_one_process(void) {
    static const char config[] =
        "{\"current_host\":\"algo-2\",\"hosts\":[\"algo-1\",\"algo-2\",\"algo-3\"],"
        "\"current_group_name\":\"g1\",\"instance_groups\":["
        "{\"instance_group_name\":\"g1\",\"hosts\":[\"algo-2\"]},"
        "{\"instance_group_name\":\"g2\",\"hosts\":[\"algo-3\",\"algo-1\"]}]}";
    use_base("groups");
    write_config("resourceconfig.json", config);
    ranks_of("{\"sagemaker_distribution_instance_groups\":\"[\\\"g2\\\"]\","
             "\"sagemaker_mpi_num_of_processes_per_host\":\"4\"}",
             0, 1, 1);
    ranks_of("{\"sagemaker_mpi_num_of_processes_per_host\":\"4\"}", 0, 12, 4);
}

static void part_is(const char *hyperparameters, const char *expected) {
    struct job job;
    char *environment[] = {base, path_variable, NULL};
    write_config("hyperparameters.json", hyperparameters);
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, NULL), 0);
    CU_ASSERT_STRING_EQUAL(job.part, expected);
    job_done(&job);
}

static void a_job_that_is_a_part_is_called_by_its_first_host(void) {
    use_base("parts");
    write_config("resourceconfig.json",
                 "{\"current_host\":\"algo-3\",\"hosts\":[\"algo-1\",\"algo-2\",\"algo-3\"],"
                 "\"current_group_name\":\"g2\",\"instance_groups\":["
                 "{\"instance_group_name\":\"g1\",\"hosts\":[\"algo-1\"]},"
                 "{\"instance_group_name\":\"g2\",\"hosts\":[\"algo-3\",\"algo-2\"]}]}");
    part_is("{}", "");
    part_is("{\"sagemaker_mpi_enabled\":\"false\"}", "algo-3");
    part_is("{\"sagemaker_distribution_instance_groups\":\"[\\\"g2\\\"]\"}", "algo-2");
    part_is("{\"sagemaker_distribution_instance_groups\":\"[\\\"g1\\\"]\"}", "algo-3");
}

/* The slots in the list and in the hyperparameters do not matter. */
static void once_per_host_is_one_slot_each(void) {
    static const char *const words[] = {"--once-per-host", "--", "sleep", "--once-per-host", NULL};
    static char hosts[] = "RINGMASTER_HOSTS=a:8,b";
    static char host[] = "RINGMASTER_HOST=b";
    use_base("once");
    char *environment[] = {base, path_variable, hosts, host, NULL};
    struct job job;
    struct error err = {0};
    write_config("hyperparameters.json", "{\"sagemaker_mpi_num_of_processes_per_host\":\"4\"}");
    CU_ASSERT_EQUAL(job_read(words, environment, &job, &err), 0);
    CU_ASSERT_EQUAL(cluster_ranks(&job.cluster), 2);
    CU_ASSERT_EQUAL_FATAL(job.program.argv.count, 2);
    CU_ASSERT_STRING_EQUAL(job.program.argv.items[1], "--once-per-host");
    job_done(&job);
    CU_ASSERT_EQUAL(job_read(words + 1, environment, &job, &err), 0);
    CU_ASSERT_EQUAL(cluster_ranks(&job.cluster), 12);
    job_done(&job);
    write_config("hyperparameters.json", "{\"sagemaker_mpi_num_processes\":\"4\"}");
    CU_ASSERT_EQUAL(job_read(words, environment, &job, &err), -1);
    ASSERT_CONTAINS(err.text, "4 processes are more than the 2 of all hosts");
    job_done(&job);
}

static void only_once_per_host_stands_before_the_program(void) {
    static const char *const misspelled[] = {"--once-per-hosts", "--", "sleep", "1", NULL};
    static const char *const after[] = {"--once-per-host", "--epochs", "3", "--", "sleep", NULL};
    static const char *const flags[] = {"--epochs", "3", NULL};
    use_base("front");
    char *environment[] = {base, path_variable, NULL};
    struct job job;
    struct error err = {0};
    CU_ASSERT_EQUAL(job_read(misspelled, environment, &job, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--once-per-hosts stands before --, where only --once-per-host may");
    job_done(&job);
    CU_ASSERT_EQUAL(job_read(after, environment, &job, &err), -1);
    ASSERT_CONTAINS(err.text, "--epochs stands before --");
    job_done(&job);
    /* Flags of the trainer; nothing is said of where they stand. */
    err = (struct error){0};
    (void)job_read(flags, environment, &job, &err);
    CU_ASSERT(strstr(err.text, "stands before") == NULL);
    job_done(&job);
    /* The words of a program that sagemaker_program names are its own. */
    write_config("hyperparameters.json", "{\"sagemaker_program\": \"/bin/true\"}");
    CU_ASSERT_EQUAL(job_read(misspelled, environment, &job, NULL), 0);
    job_done(&job);
}

/* The slots in the list and in the hyperparameters do not matter. */
static void ranks_per_host_are_those_of_the_setting(void) {
    static char variables[][32] = {"RINGMASTER_HOSTS=a:8,b", "RINGMASTER_HOST=b",
                                   "RINGMASTER_RANKS_PER_HOST=3"};
    char *environment[] = {base, path_variable, variables[0], variables[1], variables[2], NULL};
    struct job job;
    use_base("ranks");
    write_config("hyperparameters.json", "{\"sagemaker_mpi_num_of_processes_per_host\":\"4\"}");
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, NULL), 0);
    CU_ASSERT_EQUAL(cluster_ranks(&job.cluster), 6);
    job_done(&job);
}

static void tf_config_needs_the_names_of_hosts(void) {
    static char variables[][32] = {"PET_NNODES=2", "PET_NODE_RANK=1", "PET_MASTER_ADDR=10.0.0.1",
                                   "RINGMASTER_TF_CONFIG=1"};
    char *environment[] = {base,         path_variable, variables[0], variables[1],
                           variables[2], variables[3],  NULL};
    struct job job;
    struct error err = {0};
    use_base("tf");
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, &err), -1);
    ASSERT_CONTAINS(err.text, "RINGMASTER_TF_CONFIG=1 needs the names of all hosts");
    job_done(&job);
}

static void a_wrong_cluster_leaves_nothing(void) {
    use_base("cluster");
    write_config("resourceconfig.json", "{\"current_host\":\"algo-1\",\"hosts\":[\"algo-2\"]}");
    char *environment[] = {base, path_variable, NULL};
    struct job job;
    struct error err = {0};
    CU_ASSERT_EQUAL(job_read(sleeper, environment, &job, &err), -1);
    CU_ASSERT_EQUAL(job.ports.control, 0);
    job_done(&job);
}

UNIT_SUITE("job.job", UNIT(a_sagemaker_job_is_read_whole),
           UNIT(nothing_at_all_is_one_host_with_a_rank_or_more),
           UNIT(a_host_that_another_platform_counts_among_several_is_not_alone),
           UNIT(a_lone_trainer_beside_others_runs_and_they_do_not),
           UNIT(a_host_that_its_platform_lists_alone_may_be_one_of_many_all_the_same),
           UNIT(names_that_are_no_flags_are_a_warning),
           UNIT(a_launcher_within_a_program_of_a_job_warns),
           UNIT(a_wrong_program_leaves_the_cluster_known),
           UNIT(going_on_without_the_first_host_needs_who_lets_it),
           UNIT(what_is_passed_on_needs_no_names), UNIT(a_wrong_variable_leaves_the_cluster_known),
           UNIT(wrong_hyperparameters_leave_the_cluster_known),
           UNIT(a_number_of_all_processes_wins),
           UNIT(a_host_outside_the_distribution_runs_one_process),
           UNIT(a_job_that_is_a_part_is_called_by_its_first_host),
           UNIT(once_per_host_is_one_slot_each), UNIT(only_once_per_host_stands_before_the_program),
           UNIT(ranks_per_host_are_those_of_the_setting), UNIT(tf_config_needs_the_names_of_hosts),
           UNIT(a_wrong_cluster_leaves_nothing), UNIT(the_trainer_beside_this_program_comes_first))
