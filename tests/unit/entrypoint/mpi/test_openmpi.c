#include "entrypoint/mpi/openmpi.h"
#include "tests/support/addresses.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 2},
                                      {.name = {"algo-2"}, .slots = 2},
                                      {.name = {"algo-3"}, .slots = 1}};
static const struct cluster cluster = {.hosts = hosts, .count = 3};
static const struct interface interface = {.name = "eth0", .prefix = 16};
static struct ports ports;

static struct openmpi_request request_for(enum openmpi_series series) {
    CU_ASSERT_EQUAL(ports_plan(7070, 2, &ports, NULL), 0);
    return (struct openmpi_request){
        .version = {.series = series},
        .cluster = &cluster,
        .interface = &interface,
        .ports = &ports,
        .agent = "/run/r/agent",
        .shared = "/dev/shm/r-1",
        .mpirun = "/usr/bin/mpirun",
        .hostfile = "/run/r/hosts",
        .ringmaster = "/usr/bin/ringmaster",
        .dead_seconds = 10,
    };
}

static int version(const char *text, struct openmpi *ret, struct error *err) {
    return openmpi_parse_version(text, strlen(text), ret, err);
}

static void versions_are_distinguished(void) {
    struct openmpi v;
    CU_ASSERT_EQUAL(version("mpirun (Open MPI) 4.1.4\n\nReport bugs to http...\n", &v, NULL), 0);
    CU_ASSERT(v.series == OPENMPI_4_1 && v.major == 4 && v.minor == 1 && v.release == 4);
    CU_ASSERT_EQUAL(version("mpirun (Open MPI) 5.0.7", &v, NULL), 0);
    CU_ASSERT(v.series == OPENMPI_5_0 && v.release == 7);
    CU_ASSERT_EQUAL(version("mpirun (Open MPI) 5.1.0rc2\n", &v, NULL), 0);
    CU_ASSERT_STRING_EQUAL(openmpi_daemon(OPENMPI_4_1), "orted");
    CU_ASSERT_STRING_EQUAL(openmpi_daemon(OPENMPI_5_0), "prted");
}

static void other_launchers_are_refused(void) {
    static const char *const bad[] = {"",
                                      "HYDRA build details:",
                                      "mpirun (Open MPI) ",
                                      "mpirun (Open MPI) 4.1",
                                      "mpirun (Open MPI) 4.0.3",
                                      "mpirun (Open MPI) 3.1.0",
                                      "mpirun (Open MPI) 6.0.0",
                                      "mpirun (Open MPI) 99999999999999999999.1.1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct openmpi v;
        struct error err = {0};
        CU_ASSERT_EQUAL(version(bad[i], &v, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    }
    struct openmpi v;
    CU_ASSERT_EQUAL(openmpi_parse_version("(Open MPI) 4.1.4", 15, &v, NULL), -1);
    /* Other output is quoted in the error: eighty bytes of it, and none after its end. */
    struct error err = {0};
    char words[200];
    memset(words, 'w', sizeof(words));
    CU_ASSERT_EQUAL(openmpi_parse_version(words, sizeof(words), &v, &err), -1);
    CU_ASSERT_EQUAL(strspn(strchr(err.text, '"') + 1, "w"), 80);
    CU_ASSERT_EQUAL(openmpi_parse_version(words, 3, &v, &err), -1);
    ASSERT_CONTAINS(err.text, "\"www\"");
}

static void expect_words(const struct argv *got, const char *const *expected) {
    size_t i = 0;
    for (; i < got->count && expected[i] != NULL; i++)
        CU_ASSERT_STRING_EQUAL(got->items[i], expected[i]);
    CU_ASSERT_PTR_NULL(expected[i]);
    CU_ASSERT_EQUAL(i, got->count);
}

/* The word after OPTION in a command line; NULL unless OPTION occurs exactly once. */
static const char *value_of(const struct argv *words, const char *option) {
    const char *value = NULL;
    for (size_t i = 0; i + 1 < words->count; i++)
        if (strcmp(words->items[i], option) == 0) {
            if (value != NULL)
                return NULL;
            value = words->items[i + 1];
        }
    return value;
}

static void the_users_placing_replaces_ours(void) {
    struct openmpi_request r = request_for(OPENMPI_4_1);
    cleanup_argv struct argv bound = {0};
    cleanup_argv struct argv both = {0};
    cleanup_argv struct argv wrong = {0};
    struct error err = {0};
    r.custom = "--bind-to core -x A=b";
    CU_ASSERT_EQUAL(openmpi_command(&r, &bound, NULL), 0);
    CU_ASSERT_STRING_EQUAL(value_of(&bound, "--bind-to"), "core");
    CU_ASSERT_STRING_EQUAL(value_of(&bound, "--map-by"), "slot");
    r.custom = "-map-by slot:PE=2 -bind-to hwthread";
    CU_ASSERT_EQUAL(openmpi_command(&r, &both, NULL), 0);
    CU_ASSERT_STRING_EQUAL(value_of(&both, "--bind-to"), "hwthread");
    CU_ASSERT_STRING_EQUAL(value_of(&both, "--map-by"), "slot:PE=2");
    r.custom = "--host x";
    CU_ASSERT_EQUAL(openmpi_command(&r, &wrong, &err), -1);
    ASSERT_CONTAINS(err.text, "--host");
}

/* 5.0 takes "PE=2,oversubscribe" for no number, and 4.1 reads no further than to a colon. */
static void modifiers_are_parted_as_the_series_has_it(void) {
    static const char *const customs[] = {
        "--map-by slot:PE=2,oversubscribe --bind-to core:overload-allowed,if-supported",
        "--map-by slot:PE=2:oversubscribe --bind-to core:overload-allowed:if-supported"};
    static const char *const expected[][2] = {
        [OPENMPI_4_1] = {"slot:PE=2,oversubscribe", "core:overload-allowed,if-supported"},
        [OPENMPI_5_0] = {"slot:PE=2:oversubscribe", "core:overload-allowed:if-supported"}};
    for (int series = OPENMPI_4_1; series <= OPENMPI_5_0; series++)
        for (size_t i = 0; i < sizeof(customs) / sizeof(customs[0]); i++) {
            struct openmpi_request r = request_for((enum openmpi_series)series);
            cleanup_argv struct argv words = {0};
            r.custom = customs[i];
            CU_ASSERT_EQUAL(openmpi_command(&r, &words, NULL), 0);
            CU_ASSERT_STRING_EQUAL(value_of(&words, "--map-by"), expected[series][0]);
            CU_ASSERT_STRING_EQUAL(value_of(&words, "--bind-to"), expected[series][1]);
        }
}

static void ranks_are_told_to_talk_by_ucx(void) {
    for (int series = OPENMPI_4_1; series <= OPENMPI_5_0; series++) {
        struct openmpi_request r = request_for((enum openmpi_series)series);
        cleanup_argv struct argv tcp = {0};
        cleanup_argv struct argv ucx = {0};
        CU_ASSERT_EQUAL(openmpi_command(&r, &tcp, NULL), 0);
        CU_ASSERT_STRING_EQUAL(value_of(&tcp, "pml"), "ob1");
        r.ucx = true;
        CU_ASSERT_EQUAL(openmpi_command(&r, &ucx, NULL), 0);
        CU_ASSERT_STRING_EQUAL(value_of(&ucx, "pml"), "^cm");
    }
}

/* A daemon that says nothing is gone soon after a host that does, and never before it. */
static void daemons_are_given_up_behind_hosts(void) {
    static const struct {
        int64_t seconds;
        const char *time, *interval;
    } rows[] = {{5, "2", "1"}, {10, "5", "2"}, {60, "30", "12"}};
    for (int series = OPENMPI_4_1; series <= OPENMPI_5_0; series++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            struct openmpi_request r = request_for((enum openmpi_series)series);
            cleanup_argv struct argv words = {0};
            r.dead_seconds = rows[i].seconds;
            CU_ASSERT_EQUAL(openmpi_command(&r, &words, NULL), 0);
            CU_ASSERT_STRING_EQUAL(value_of(&words, "oob_tcp_keepalive_time"), rows[i].time);
            CU_ASSERT_STRING_EQUAL(value_of(&words, "oob_tcp_keepalive_intvl"), rows[i].interval);
            CU_ASSERT_STRING_EQUAL(value_of(&words, "oob_tcp_keepalive_probes"), "6");
            CU_ASSERT(atoi(rows[i].interval) * 6 > rows[i].seconds);
        }
}

/* SageMaker's toolkit tells mpirun this of two hosts with two processes each. What differs has its
 * reason in openmpi.c, in mpi/shm_transport.h and, for what is left out, in
 * docs/guides/sagemaker.md. */
static void the_toolkit_s_line_is_followed(void) {
    static struct cluster_host two[] = {{.name = {"algo-1"}, .slots = 2},
                                        {.name = {"algo-2"}, .slots = 2}};
    static const struct cluster its = {.hosts = two, .count = 2};
    static const char *const rows[][2] = {
        {"-np", "4"},
        {"--bind-to", "none"},
        {"--map-by", "slot"},
        {"btl_tcp_if_include", "0.0.0.0/16"}, /* the interface by its network */
        {"oob_tcp_if_include", "eth0"},
        {"plm_rsh_no_tree_spawn", "1"},
        {"pml", "ob1"},
        {"btl", "tcp,self,vader"}, /* ^openib */
        {"btl_vader_single_copy_mechanism", "none"},
        {"orte_abort_on_non_zero_status", NULL},
    };
    struct openmpi_request r = request_for(OPENMPI_4_1);
    cleanup_argv struct argv got = {0};
    r.cluster = &its;
    r.custom = "-v";
    CU_ASSERT_EQUAL(openmpi_command(&r, &got, NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *value = value_of(&got, rows[i][0]);
        CU_ASSERT_EQUAL(value == NULL, rows[i][1] == NULL);
        if (value != NULL && rows[i][1] != NULL)
            CU_ASSERT_STRING_EQUAL(value, rows[i][1]);
    }
    CU_ASSERT_PTR_NULL(value_of(&got, "-x"));
}

static void the_4_1_command_line_is_this(void) {
    struct openmpi_request r = request_for(OPENMPI_4_1);
    static const char *const names[] = {"RINGMASTER_SOCKET", NULL};
    r.exports = names;
    r.directory = "/opt/ml/code";
    static const char *const expected[] = {"/usr/bin/mpirun",
                                           "--allow-run-as-root",
                                           "--noprefix",
                                           "--leave-session-attached",
                                           "--hostfile",
                                           "/run/r/hosts",
                                           "-np",
                                           "5",
                                           "--map-by",
                                           "slot",
                                           "--bind-to",
                                           "none",
                                           "--wdir",
                                           "/opt/ml/code",
                                           "--mca",
                                           "plm_rsh_agent",
                                           "/run/r/agent",
                                           "--mca",
                                           "plm_rsh_no_tree_spawn",
                                           "1",
                                           "--mca",
                                           "plm_rsh_num_concurrent",
                                           "3",
                                           "--mca",
                                           "orte_keep_fqdn_hostnames",
                                           "1",
                                           "--mca",
                                           "regx",
                                           "naive",
                                           "--mca",
                                           "ess_base_forward_signals",
                                           "none",
                                           "--mca",
                                           "oob_tcp_if_include",
                                           "eth0",
                                           "--mca",
                                           "oob_tcp_static_ipv4_ports",
                                           "7071",
                                           "--mca",
                                           "oob_tcp_static_ipv6_ports",
                                           "7072",
                                           "--mca",
                                           "oob_tcp_keepalive_time",
                                           "5",
                                           "--mca",
                                           "oob_tcp_keepalive_intvl",
                                           "2",
                                           "--mca",
                                           "oob_tcp_keepalive_probes",
                                           "6",
                                           "--mca",
                                           "btl",
                                           "tcp,self,vader",
                                           "--mca",
                                           "pml",
                                           "ob1",
                                           "--mca",
                                           "btl_vader_backing_directory",
                                           "/dev/shm/r-1",
                                           "--mca",
                                           "btl_vader_single_copy_mechanism",
                                           "none",
                                           "--mca",
                                           "btl_tcp_if_include",
                                           "0.0.0.0/16",
                                           "--mca",
                                           "btl_tcp_port_min_v4",
                                           "7086",
                                           "--mca",
                                           "btl_tcp_port_range_v4",
                                           "64",
                                           "--mca",
                                           "mpi_yield_when_idle",
                                           "1",
                                           "-x",
                                           "RINGMASTER_SOCKET",
                                           "/usr/bin/ringmaster",
                                           "rank",
                                           NULL};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(openmpi_command(&r, &got, NULL), 0);
    expect_words(&got, expected);
}

static void the_5_0_command_line_is_this(void) {
    struct openmpi_request r = request_for(OPENMPI_5_0);
    static const char *const expected[] = {"/usr/bin/mpirun",
                                           "--allow-run-as-root",
                                           "--leave-session-attached",
                                           "--hostfile",
                                           "/run/r/hosts",
                                           "-np",
                                           "5",
                                           "--map-by",
                                           "slot",
                                           "--bind-to",
                                           "none",
                                           "--prtemca",
                                           "plm_ssh_agent",
                                           "/run/r/agent",
                                           "--prtemca",
                                           "plm_ssh_no_tree_spawn",
                                           "1",
                                           "--prtemca",
                                           "plm_ssh_num_concurrent",
                                           "3",
                                           "--prtemca",
                                           "prte_keep_fqdn_hostnames",
                                           "1",
                                           "--prtemca",
                                           "prte_do_not_resolve",
                                           "0",
                                           "--prtemca",
                                           "prte_if_include",
                                           "eth0",
                                           "--prtemca",
                                           "oob_tcp_static_ipv4_ports",
                                           "7071",
                                           "--prtemca",
                                           "oob_tcp_static_ipv6_ports",
                                           "7072",
                                           "--pmixmca",
                                           "ptl_base_if_include",
                                           "lo",
                                           "--prtemca",
                                           "oob_tcp_keepalive_time",
                                           "5",
                                           "--prtemca",
                                           "oob_tcp_keepalive_intvl",
                                           "2",
                                           "--prtemca",
                                           "oob_tcp_keepalive_probes",
                                           "6",
                                           "--mca",
                                           "btl",
                                           "tcp,self,sm",
                                           "--mca",
                                           "pml",
                                           "ob1",
                                           "--mca",
                                           "btl_sm_backing_directory",
                                           "/dev/shm/r-1",
                                           "--mca",
                                           "btl_tcp_if_include",
                                           "0.0.0.0/16",
                                           "--mca",
                                           "btl_tcp_port_min_v4",
                                           "7086",
                                           "--mca",
                                           "btl_tcp_port_range_v4",
                                           "64",
                                           "--mca",
                                           "mpi_yield_when_idle",
                                           "1",
                                           "/usr/bin/ringmaster",
                                           "rank",
                                           NULL};
    cleanup_argv struct argv got = {0};
    CU_ASSERT_EQUAL(openmpi_command(&r, &got, NULL), 0);
    expect_words(&got, expected);
}

static void values_that_a_shell_would_read_are_refused(void) {
    static const char *const bad[] = {"/run/a b", "/run/$(id)", "/run/`id`", "/run/a;b",
                                      "",         "/run/\"",    "/run/a\nb", "/run/\xc3\xa9"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct openmpi_request r = request_for(OPENMPI_4_1);
        r.agent = bad[i];
        struct error err = {0};
        cleanup_argv struct argv got = {0};
        CU_ASSERT_EQUAL(openmpi_command(&r, &got, &err), -1);
        ASSERT_CONTAINS(err.text, "plm_rsh_agent");
    }
    char path[300];
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    struct openmpi_request r = request_for(OPENMPI_4_1);
    r.agent = path;
    struct openmpi_options options;
    CU_ASSERT_EQUAL(openmpi_options(&r, &options, NULL), -1);
}

static void the_host_file_lists_addresses_with_slots(void) {
    static const char *const addresses[] = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};
    cleanup_buf struct buf text;
    buf_init(&text, 1024);
    for (size_t i = 0; i < 3; i++)
        hosts[i].address = address_of(addresses[i]);
    CU_ASSERT_EQUAL(openmpi_hostfile(&cluster, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text),
                           "10.0.0.1 slots=2\n10.0.0.2 slots=2\n10.0.0.3 slots=1\n");
    hosts[1].gone = true;
    text.size = 0;
    CU_ASSERT_EQUAL(openmpi_hostfile(&cluster, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "10.0.0.1 slots=2\n10.0.0.3 slots=1\n");
    hosts[1].gone = false;
}

static void harmless_warnings_are_known(void) {
    CU_ASSERT(openmpi_is_noise("[algo-1:00025] WARNING: local probe returned unhandled "
                               "shell:unknown assuming bash"));
    CU_ASSERT(openmpi_is_noise("[algo-1:7] plm:ssh: Warning: setpgid(9,9) failed in parent"));
    CU_ASSERT(openmpi_is_noise("[vm:7] plm:rsh: Warning: setpgid(9,9) failed in parent"));
    CU_ASSERT_FALSE(openmpi_is_noise("ORTE has lost communication"));
}

static void daemons_of_5_0_are_called_by_address(void) {
    cleanup_argv struct argv environment = {0};
    CU_ASSERT_EQUAL(openmpi_daemon_name(OPENMPI_4_1, "10.0.0.2", &environment, NULL), 0);
    CU_ASSERT_EQUAL(environment.count, 0);
    CU_ASSERT_EQUAL(openmpi_daemon_name(OPENMPI_5_0, "10.0.0.2", &environment, NULL), 0);
    CU_ASSERT_EQUAL(environment.count, 3);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "SLURMD_NODENAME"), "10.0.0.2");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "SLURM_NODEID"), "0");
}

static void daemons_look_for_no_devices(void) {
    static const char *const plain[] = {NULL, "", "-x NCCL_DEBUG=INFO --bind-to core"};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        cleanup_argv struct argv environment = {0};
        CU_ASSERT_EQUAL(openmpi_daemon_topology(plain[i], &environment, NULL), 0);
        CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "HWLOC_PLUGINS_PATH"), "/dev/null");
        ASSERT_CONTAINS(argv_get_env(&environment, "HWLOC_COMPONENTS"), "-pci,");
    }
    /* Which of several network cards is near, other transports ask. */
    cleanup_argv struct argv environment = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(openmpi_daemon_topology("-x A=b --mca pml cm", &environment, NULL), 0);
    CU_ASSERT_EQUAL(environment.count, 0);
    CU_ASSERT_EQUAL(openmpi_daemon_topology("--host a", &environment, &err), -1);
    ASSERT_CONTAINS(err.text, "--host");
    CU_ASSERT_EQUAL(environment.count, 0);
}

static void a_kernel_name_of_too_many_letters_is_refused(void) {
    static const struct {
        const char *end;
        int letters;
        bool good;
    } rows[] = {{"", 56, true},  {"", 57, false},  {"", 63, false},          {"-1", 56, true},
                {"1", 56, true}, {"1", 57, false}, {".internal", 57, false}, {"_1ab", 40, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char name[128];
        struct error err = {0};
        memset(name, 'n', (size_t)rows[i].letters);
        (void)snprintf(name + rows[i].letters, sizeof(name) - (size_t)rows[i].letters, "%s",
                       rows[i].end);
        CU_ASSERT_EQUAL(openmpi_check_kernel_name(OPENMPI_5_0, name, &err), 0);
        CU_ASSERT_EQUAL(openmpi_check_kernel_name(OPENMPI_4_1, name, &err), rows[i].good ? 0 : -1);
        if (rows[i].good)
            continue;
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, name);
        ASSERT_CONTAINS(err.text, "a shorter host name");
    }
}

UNIT_SUITE("mpi.openmpi", UNIT(daemons_look_for_no_devices),
           UNIT(a_kernel_name_of_too_many_letters_is_refused),
           UNIT(daemons_of_5_0_are_called_by_address), UNIT(versions_are_distinguished),
           UNIT(other_launchers_are_refused), UNIT(the_users_placing_replaces_ours),
           UNIT(modifiers_are_parted_as_the_series_has_it), UNIT(ranks_are_told_to_talk_by_ucx),
           UNIT(daemons_are_given_up_behind_hosts), UNIT(the_toolkit_s_line_is_followed),
           UNIT(the_4_1_command_line_is_this), UNIT(the_5_0_command_line_is_this),
           UNIT(values_that_a_shell_would_read_are_refused),
           UNIT(the_host_file_lists_addresses_with_slots), UNIT(harmless_warnings_are_known))
