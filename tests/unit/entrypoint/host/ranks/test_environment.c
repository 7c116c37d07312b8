#include "entrypoint/host/ranks/environment.h"
#include "tests/support/rdma.h"
#include "tests/support/unit.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 1},
                                      {.name = {"algo-2"}, .slots = 1}};

static struct job job_of_two(void) {
    return (struct job){
        .settings = {.base_dir = "/opt/ml"},
        .cluster = {.hosts = hosts, .count = 2, .self = 1},
    };
}

/* Returns whether LIST has exactly one entry for NAME. */
static bool has_once(const struct argv *list, const char *name) {
    size_t found = 0;
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], name, strlen(name)) == 0 && list->items[i][strlen(name)] == '=')
            found++;
    return found == 1;
}

static void daemons_get_little(void) {
    char path[] = "PATH=/x/bin", secret[] = "AWS_SECRET_ACCESS_KEY=s", mca[] = "OMPI_MCA_btl=self",
         prte[] = "PRTE_MCA_x=1", preload[] = "LD_PRELOAD=/x.so", key[] = "RINGMASTER_KEY=k";
    char audit[] = "LD_AUDIT=/x.so", gconv[] = "GCONV_PATH=/x", conf[] = "OPENSSL_CONF=/x",
         modules[] = "OPENSSL_MODULES=/x", library[] = "LD_LIBRARY_PATH=/x/lib";
    char *own[] = {path,  secret, mca,  prte,    preload, key,
                   audit, gconv,  conf, modules, library, NULL};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(environment_daemon(own, "/run/s", &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "PATH"), "/x/bin");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "HOME"), "/root");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "RINGMASTER_SOCKET"), "/run/s");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "LD_LIBRARY_PATH"), "/x/lib");
    CU_ASSERT_EQUAL(got.count, 4);
}

static void programs_get_the_containers_own_without_our_secrets(void) {
    struct job job = job_of_two();
    char text[] = "TEXT=line\n\"quoted\" $HOME", key[] = "RINGMASTER_KEY=0123456789abcdef",
         port[] = "RINGMASTER_PORT=9", mca[] = "OMPI_MCA_btl=self", pmix[] = "PMIX_RANK=7",
         prte[] = "PRTE_MCA_x=1", bare[] = "no-equals", host[] = "SM_CURRENT_HOST=wrong";
    char *own[] = {text, key, port, mca, pmix, prte, bare, host, NULL};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(environment_host(&job, own, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "TEXT"), "line\n\"quoted\" $HOME");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "SM_CURRENT_HOST"), "algo-2");
    CU_ASSERT(has_once(&got, "SM_CURRENT_HOST"));
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "PYTHONUNBUFFERED"), "1");
    for (size_t i = 0; i < got.count; i++) {
        CU_ASSERT_PTR_NULL(strstr(got.items[i], "0123456789abcdef"));
        CU_ASSERT_NOT_EQUAL(strncmp(got.items[i], "RINGMASTER_", 11), 0);
        CU_ASSERT_NOT_EQUAL(strncmp(got.items[i], "OMPI_", 5), 0);
        CU_ASSERT_NOT_EQUAL(strncmp(got.items[i], "PMIX_", 5), 0);
        CU_ASSERT_NOT_EQUAL(strncmp(got.items[i], "PRTE_", 5), 0);
    }
}

static void ranks_get_their_place(void) {
    char rank[] = "OMPI_COMM_WORLD_RANK=3", size[] = "OMPI_COMM_WORLD_SIZE=4",
         local_rank[] = "OMPI_COMM_WORLD_LOCAL_RANK=1",
         local_size[] = "OMPI_COMM_WORLD_LOCAL_SIZE=2", uri[] = "PMIX_SERVER_URI2=x",
         other[] = "PATH=/daemon", socket[] = "RINGMASTER_SOCKET=/s",
         attempt[] = "RINGMASTER_ATTEMPT=2", run[] = "RINGMASTER_RUN_ID=0123456789abcdef";
    char *launched[] = {rank, size, local_rank, local_size, uri, other, socket, attempt, run, NULL};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(argv_set_env(&got, "PATH", "/own", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&got, "RANK", "99", NULL), 0);
    CU_ASSERT_EQUAL(environment_add_rank(&got, launched, "10.0.0.1", 7073, NULL), 0);
    static const char *const expected[][2] = {{"RANK", "3"},
                                              {"WORLD_SIZE", "4"},
                                              {"LOCAL_RANK", "1"},
                                              {"LOCAL_WORLD_SIZE", "2"},
                                              {"ROLE_RANK", "3"},
                                              {"ROLE_WORLD_SIZE", "4"},
                                              {"TORCHELASTIC_RESTART_COUNT", "1"},
                                              {"MASTER_ADDR", "10.0.0.1"},
                                              {"MASTER_PORT", "7073"},
                                              {"RINGMASTER_ATTEMPT", "2"},
                                              {"RINGMASTER_RUN_ID", "0123456789abcdef"},
                                              {"PATH", "/own"},
                                              {"OMPI_COMM_WORLD_RANK", "3"},
                                              {"PMIX_SERVER_URI2", "x"}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        CU_ASSERT_STRING_EQUAL(argv_get_env(&got, expected[i][0]), expected[i][1]);
        CU_ASSERT(has_once(&got, expected[i][0]));
    }
    CU_ASSERT_PTR_NULL(argv_get_env(&got, "RINGMASTER_SOCKET"));
}

/* torchrun sets the same variables. They replace what the platform says about hosts, as its order
 * may be different. */
static void frameworks_find_their_host(void) {
    struct cluster_host three[] = {{.name = {"a"}, .slots = 2},
                                   {.name = {"b"}, .slots = 2, .gone = true},
                                   {.name = {"c"}, .slots = 2}};
    struct job job = {.settings = {.base_dir = "/opt/ml", .restarts = 4},
                      .cluster = {.hosts = three, .count = 3, .self = 2, .job = "job-7"}};
    char platform[] = "NODE_RANK=9", store[] = "TORCHELASTIC_USE_AGENT_STORE=True",
         nccl[] = "TORCH_NCCL_ASYNC_ERROR_HANDLING=3";
    char *own[] = {platform, store, nccl, NULL};
    static const char *const expected[][2] = {{"GROUP_RANK", "1"},
                                              {"NODE_RANK", "1"},
                                              {"GROUP_WORLD_SIZE", "2"},
                                              {"ROLE_NAME", "default"},
                                              {"TORCHELASTIC_RUN_ID", "job-7"},
                                              {"TORCHELASTIC_MAX_RESTARTS", "4"},
                                              {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                                              {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"}};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(environment_host(&job, own, &got, NULL), 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        CU_ASSERT_STRING_EQUAL(argv_get_env(&got, expected[i][0]), expected[i][1]);
        CU_ASSERT(has_once(&got, expected[i][0]));
    }
    cleanup_argv struct argv bare = {0};
    char *none[] = {NULL};
    CU_ASSERT_EQUAL(environment_host(&job, none, &bare, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&bare, "TORCH_NCCL_ASYNC_ERROR_HANDLING"), "1");
}

static void ranks_of_a_host_share_its_processors(void) {
    static const struct {
        unsigned slots;
        int cpus, threads;
        const char *options, *own;
    } rows[] = {{2, 96, 48, NULL, NULL},
                {8, 96, 12, NULL, NULL},
                {3, 2, 1, NULL, NULL},
                {3, 8, 2, NULL, NULL},
                {1, 96, 0, NULL, NULL},
                {8, 96, 0, NULL, "OMP_NUM_THREADS=4"},
                {8, 96, 0, "-x OMP_NUM_THREADS=3", NULL},
                {8, 96, 0, "--bind-to core", NULL},
                {8, 96, 12, "--bind-to none", NULL}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job job = job_of_two();
        struct cluster_host pair[] = {{.name = {"a"}, .slots = 5},
                                      {.name = {"b"}, .slots = rows[i].slots}};
        char set[32] = "";
        char *own[] = {rows[i].own != NULL ? set : NULL, NULL};
        cleanup_argv struct argv got = {0};
        (void)snprintf(set, sizeof(set), "%s", rows[i].own != NULL ? rows[i].own : "");
        job.cluster.hosts = pair;
        job.request.mpi_options.options = rows[i].options;
        CU_ASSERT_EQUAL(environment_host(&job, own, &got, NULL), 0);
        CU_ASSERT_EQUAL(environment_threads(&job, &got, rows[i].cpus), rows[i].threads);
        CU_ASSERT_EQUAL(environment_set_threads(&got, rows[i].threads, NULL), 0);
        const char *value = argv_get_env(&got, "OMP_NUM_THREADS");
        CU_ASSERT_EQUAL(value != NULL ? atoi(value) : 0, rows[i].own != NULL ? 4
                                                         : rows[i].options != NULL
                                                             ? (i == 6 ? 3 : rows[i].threads)
                                                             : rows[i].threads);
    }
}

static void the_users_options_for_mpirun_reach_ranks(void) {
    struct job job = job_of_two();
    char own_value[] = "NCCL_DEBUG=WARN", place[] = "OMPI_COMM_WORLD_RANK=0",
         size[] = "OMPI_COMM_WORLD_SIZE=1", local[] = "OMPI_COMM_WORLD_LOCAL_RANK=0",
         local_size[] = "OMPI_COMM_WORLD_LOCAL_SIZE=1", attempt[] = "RINGMASTER_ATTEMPT=1",
         btl[] = "OMPI_MCA_btl=tcp,self,vader", pml[] = "OMPI_MCA_pml=ob1";
    char *own[] = {own_value, NULL};
    char *launched[] = {place, size, local, local_size, attempt, btl, pml, NULL};
    cleanup_argv struct argv got = {0};
    struct error err = {0};
    job.request.mpi_options.options = "--NCCL_DEBUG=INFO -x A='b c' --mca btl tcp,self -v";
    CU_ASSERT_EQUAL(environment_host(&job, own, &got, NULL), 0);
    CU_ASSERT_EQUAL(environment_add_rank(&got, launched, "10.0.0.1", 7073, NULL), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "NCCL_DEBUG"), "INFO");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "A"), "b c");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "OMPI_MCA_btl"), "tcp,self");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&got, "OMPI_MCA_pml"), "ob1");
    CU_ASSERT(has_once(&got, "NCCL_DEBUG") && has_once(&got, "OMPI_MCA_btl"));
    job.request.mpi_options.options = "--host a";
    CU_ASSERT_EQUAL(environment_host(&job, own, &got, &err), -1);
    ASSERT_CONTAINS(err.text, "--host");
}

enum { NO_WAY = 77 };

static char machine[4200];

static int look_from_that_machine(void) {
    struct job job = job_of_two();
    char *own[] = {NULL};
    cleanup_argv struct argv got = {0};
    if ((geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) || chroot(machine) != 0 || chdir("/") != 0)
        return NO_WAY;
    if (environment_host(&job, own, &got, NULL) != 0)
        return 1;
    const char *provider = argv_get_env(&got, "FI_PROVIDER");
    return provider != NULL && strcmp(provider, "efa") == 0 ? 0 : 2;
}

/* A folder with an adapter stands in for the machine. */
static void programs_are_told_of_this_machines_adapter(void) {
    (void)snprintf(machine, sizeof(machine), "%s/machine", unit_temp_dir());
    rdma_make(machine, "rdmap0s6", "efa", 0);
    int status = unit_in_child(look_from_that_machine);
    if (WEXITSTATUS(status) == NO_WAY)
        unit_skip("neither root nor a user namespace: no folder can be the machine");
    else
        CU_ASSERT_EQUAL(status, 0);
}

UNIT_SUITE("host.environment", UNIT(the_users_options_for_mpirun_reach_ranks),
           UNIT(daemons_get_little), UNIT(programs_get_the_containers_own_without_our_secrets),
           UNIT(ranks_get_their_place), UNIT(frameworks_find_their_host),
           UNIT(ranks_of_a_host_share_its_processors),
           UNIT(programs_are_told_of_this_machines_adapter))
