#include "entrypoint/mpi/daemon_command.h"

#include "entrypoint/mpi/shell_words.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/addresses.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* The line of mpirun 4.1.4, with its own addresses and paths. */
static const char line_4[] =
    " orted -mca orte_leave_session_attached \"1\" -mca ess \"env\" -mca ess_base_jobid "
    "\"1599864832\" -mca ess_base_vpid 1 -mca ess_base_num_procs \"3\" -mca orte_node_regex "
    "\"vm,algo-[1:2-3]-x@0(3)\" -mca orte_hnp_uri \"1599864832.0;tcp://10.0.0.1:7071\" --mca "
    "plm_rsh_agent \"/run/m/agent\" --mca plm_rsh_no_tree_spawn \"1\" --mca "
    "plm_rsh_num_concurrent \"3\" --mca oob_tcp_if_include \"eth9\" --mca pml \"ob1\" -mca plm "
    "\"rsh\" -mca rmaps_base_mapping_policy \"slot\" -mca hwloc_base_binding_policy \"none\" "
    "-mca pmix \"^s1,s2,cray,isolated\"";

static const char line_5[] =
    "PRTE_PREFIX=/usr;export PRTE_PREFIX;LD_LIBRARY_PATH=/usr/lib:$LD_LIBRARY_PATH;export "
    "LD_LIBRARY_PATH;/usr/bin/prted --leave-session-attached --allow-run-as-root --prtemca ess "
    "\"env\" --prtemca ess_base_nspace \"prterun-algo-1-42@0\" --prtemca ess_base_vpid 2 "
    "--prtemca ess_base_num_procs \"3\" --prtemca prte_hnp_uri "
    "\"prterun-algo-1-42@0.0;tcp://10.0.0.1:7071:16\" --prtemca PREFIXES \"errmgr,ess,oob\" "
    "--prtemca plm_ssh_agent \"/run/m/agent\" --pmixmca ptl_base_if_include \"lo\" --prtemca plm "
    "\"ssh\" --prtemca pmix_session_server \"1\"";

static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 1},
                                      {.name = {"algo-2"}, .slots = 1},
                                      {.name = {"algo-3"}, .slots = 1}};
static const struct cluster cluster = {.hosts = hosts, .count = 3};
static const struct interface interface = {.name = "eth0", .prefix = 16};
static struct ports ports;
static struct openmpi_options options;

static struct daemon_command gate_for(enum openmpi_series series) {
    CU_ASSERT_EQUAL(ports_plan(7070, 1, &ports, NULL), 0);
    struct openmpi_request r = {.version = {.series = series},
                                .cluster = &cluster,
                                .interface = &interface,
                                .ports = &ports,
                                .agent = "/run/w/agent",
                                .dead_seconds = 10};
    CU_ASSERT_EQUAL(openmpi_options(&r, &options, NULL), 0);
    return (struct daemon_command){.series = series,
                                   .daemon =
                                       series == OPENMPI_4_1 ? "/usr/bin/orted" : "/usr/bin/prted",
                                   .options = &options,
                                   .hosts = 3,
                                   .master = address_of("10.0.0.1"),
                                   .port = ports.daemons_v4};
}

/* The argv for LINE, joined with blanks; "" and a refusal otherwise. */
static const char *rebuilt(enum openmpi_series series, const char *line, struct error *err) {
    static char text[4096];
    struct daemon_command gate = gate_for(series);
    cleanup_argv struct argv got = {0};
    cleanup_buf struct buf joined;
    buf_init(&joined, sizeof(text) - 1);
    if (daemon_command_check(&gate, line, strlen(line), &got, err) == 0)
        CU_ASSERT_EQUAL(daemon_command_join((const char *const *)got.items, &joined, NULL), 0);
    memcpy(text, buf_text(&joined), joined.size + 1);
    return text;
}

static void what_mpirun_4_1_asks_for_is_rebuilt(void) {
    struct error err = {0};
    CU_ASSERT_STRING_EQUAL(
        rebuilt(OPENMPI_4_1, line_4, &err),
        "/usr/bin/orted --mca ess env --mca ess_base_jobid 1599864832 --mca ess_base_vpid 1 --mca "
        "ess_base_num_procs 3 --mca orte_node_regex vm,algo-[1:2-3]-x@0(3) --mca plm_rsh_agent "
        "/run/w/agent --mca plm_rsh_no_tree_spawn 1 --mca plm_rsh_num_concurrent 3 --mca "
        "oob_tcp_if_include eth0 --mca pml ob1 --mca plm rsh --mca rmaps_base_mapping_policy slot "
        "--mca hwloc_base_binding_policy none --mca pmix ^s1,s2,cray,isolated --mca orte_hnp_uri "
        "1599864832.0;tcp://10.0.0.1:7071");
    CU_ASSERT_STRING_EQUAL(err.text, "");
}

static void what_mpirun_5_0_asks_for_is_rebuilt(void) {
    struct error err = {0};
    CU_ASSERT_STRING_EQUAL(
        rebuilt(OPENMPI_5_0, line_5, &err),
        "/usr/bin/prted --leave-session-attached --prtemca ess ^hnp --allow-run-as-root --prtemca "
        "ess_base_nspace prterun-algo-1-42@0 --prtemca ess_base_vpid 2 --prtemca "
        "ess_base_num_procs 3 --prtemca PREFIXES errmgr,ess,oob --prtemca plm_ssh_agent "
        "/run/w/agent --pmixmca ptl_base_if_include lo --prtemca plm ssh --prtemca "
        "pmix_session_server 1 --prtemca prte_hnp_uri "
        "prterun-algo-1-42@0.0;tcp://10.0.0.1:7071:16");
    CU_ASSERT_STRING_EQUAL(err.text, "");
}

/* LINE with the first FROM replaced by TO. */
static const char *edited(const char *line, const char *from, const char *to) {
    static char text[4096];
    const char *at = strstr(line, from);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
    return text;
}

/* What ranks talk by is the first host's business: no daemon's. */
static void a_daemon_does_not_hear_what_ranks_talk_by(void) {
    static const char ours[] = "--mca pml ob1 ";
    struct error err = {0};
    ASSERT_CONTAINS(rebuilt(OPENMPI_4_1, edited(line_4, "pml \"ob1\"", "pml \"^cm\""), &err), ours);
}

struct edit {
    const char *from, *to;
    const char *named; /* in the error */
};

static void expect_refusals(enum openmpi_series series, const char *line, const struct edit *edits,
                            size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct error err = {0};
        const char *got = rebuilt(series, edited(line, edits[i].from, edits[i].to), &err);
        CU_ASSERT_STRING_EQUAL(got, "");
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
        ASSERT_CONTAINS(err.text, edits[i].named);
    }
}

static void anything_else_is_refused_on_4_1(void) {
    static const struct edit edits[] = {
        {" orted", "sh", "\"sh\""},
        {" orted", "/usr/bin/prted", "prted"},
        {" orted", "orted/../sh", "sh"},
        {" orted", "id; orted", "id;"},
        {"-mca plm ", "--mca plm_rsh_no_tree_spawn \"1\" -mca plm ", "plm_rsh_no_tree_spawn"},
        {"plm_rsh_no_tree_spawn \"1\"", "plm_rsh_no_tree_spawn \"0\"", "\"0\""},
        {"pml", "orte_launch_agent", "orte_launch_agent"},
        {"pml", "mca_base_component_path", "mca_base_component_path"},
        {"pml \"ob1\"", "btl \"openib\"", "openib"},
        {"\"/run/m/agent\"", "\"$(id)\"", "$"},
        {"\"/run/m/agent\"", "\"\"", "\"\""},
        {"\"eth9\"", "\"eth 9\"", "eth"},
        {"\"env\"", "\"singleton\"", "singleton"},
        {"\"1599864832\"", "\"-1\"", "\"-1\""},
        {"\"1599864832\"", "\"15998648321\"", "15998648321"},
        {"vpid 1", "vpid 0", "lacks"},
        {"vpid 1", "vpid 3", "daemon 3 of 3"},
        {"vpid 1", "vpid 100000", "100000"},
        {"vpid 1", "vpid -1", "-1"},
        {"num_procs \"3\"", "num_procs \"5\"", "of 5"},
        {"num_procs \"3\"", "num_procs \"2\"", "of 2"},
        {"tcp://10.0.0.1:", "tcp://10.0.0.9:", "10.0.0.9"},
        {":7071", ":7000", "port"},
        {"\"1599864832.0", "\"1.0", "mpirun"},
        {"@0(3)\"", "@0(3)/\"", "is not a host expression"},
        {"-mca plm \"rsh\"", "--tree-spawn", "--tree-spawn"},
        {"-mca plm \"rsh\"", "--prtemca plm \"rsh\"", "--prtemca"},
        {"-mca plm \"rsh\"", "--allow-run-as-root", "--allow-run-as-root"},
        {"-mca plm \"rsh\"", "-x LD_PRELOAD", "-x"},
        {"\"rsh\"", "\"slurm\"", "slurm"},
        {"-mca ess \"env\"", "", "lacks"},
        {"-mca orte_node_regex \"vm,algo-[1:2-3]-x@0(3)\"", "", "lacks"},
        {"-mca pmix \"^s1,s2,cray,isolated\"", "-mca pmix", "-mca"},
    };
    expect_refusals(OPENMPI_4_1, line_4, edits, sizeof(edits) / sizeof(edits[0]));
}

static void anything_else_is_refused_on_5_0(void) {
    static const struct edit edits[] = {
        {"/usr/bin/prted", "/usr/bin/orted", "orted"},
        {"PRTE_PREFIX=/usr;export PRTE_PREFIX", "LD_PRELOAD=/x;export LD_PRELOAD", "LD_PRELOAD"},
        {"\"prterun-algo-1-42@0\"", "\"prterun-42@0\"", "prterun-42@0"},
        {"\"prterun-algo-1-42@0\"", "\"prterun-a;b-42@0\"", "prterun-a;b-42@0"},
        {"\"prterun-algo-1-42@0\"", "\"prterun-algo-1-42@1\"", "@1"},
        {"\"prterun-algo-1-42@0\"", "\"algo-1-42@0\"", "algo-1-42@0"},
        {"--pmixmca ptl", "--prtemca ptl", "ptl_base_if_include"},
        {"--prtemca ess \"env\"", "--pmixmca ess \"env\"",
         "\"ess\" is not a parameter of this job"},
        {"--prtemca plm \"ssh\"", "--pmixmca plm \"ssh\"",
         "\"plm\" is not a parameter of this job"},
        {"--prtemca pmix_session_server", "--pmixmca pmix_session_server", "pmix_session_server"},
        {"--pmixmca ptl_base_if_include \"lo\"", "--prtemca ess \"env\"", "comes twice"},
        {"--pmixmca ptl_base_if_include \"lo\"", "--mca pml \"ob1\"", "--mca"},
        {"\"lo\"", "\"eth0\"", "eth0"},
        {":7071:16", ":7071:64", "mask"},
        {"\"errmgr,ess,oob\"", "\"errmgr;oob\"", "errmgr;oob"},
        {"--leave-session-attached", "--tree-spawn --prtemca prte_parent_uri \"x\"",
         "--tree-spawn"},
        {"--allow-run-as-root", "--debug", "--debug"},
    };
    expect_refusals(OPENMPI_5_0, line_5, edits, sizeof(edits) / sizeof(edits[0]));
}

/* The name of a job: 300 bytes at most, of any kernel's host name. */
static void a_jobs_name_has_a_length(void) {
    char name[400];
    char job[420];
    char uri[440];
    for (size_t size = 284; size <= 290; size++) {
        struct error err = {0};
        memset(name, 'a', size);
        name[size] = '\0';
        snprintf(job, sizeof(job), "\"prterun-%s-42@0\"", name);
        char line[4096];
        snprintf(line, sizeof(line), "%s", edited(line_5, "\"prterun-algo-1-42@0\"", job));
        snprintf(uri, sizeof(uri), "prterun-%s-42@0.0;", name);
        const char *got = rebuilt(OPENMPI_5_0, edited(line, "prterun-algo-1-42@0.0;", uri), &err);
        bool fits = strlen("prterun--42@0") + size <= 300;
        CU_ASSERT_EQUAL(got[0] != '\0', fits);
        if (!fits)
            ASSERT_CONTAINS(err.text, "is not a job's name");
    }
}

/* A job of 1,024 hosts with addresses that no expression makes shorter, and a kernel name of 64
 * bytes. */
static void the_largest_job_fits(void) {
    cleanup_buf struct buf line;
    cleanup_buf struct buf regex;
    cleanup_argv struct argv got = {0};
    struct error err = {0};
    buf_init(&line, GATE_COMMAND_MAX);
    buf_init(&regex, GATE_COMMAND_MAX);
    CU_ASSERT_EQUAL(
        buf_add_text(&regex, "a_kernel.name-of.64-bytes-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                     NULL),
        0);
    for (unsigned i = 1; i < CLUSTER_HOSTS_MAX; i++)
        CU_ASSERT_EQUAL(buf_printf(&regex, NULL, ",[3:%u].[3:%u].[3:%u].[3:%u]", 100 + i * 7 % 156,
                                   100 + i * 11 % 156, 100 + i * 13 % 156, 100 + i % 156),
                        0);
    CU_ASSERT_EQUAL(buf_add_text(&regex, "@0(1024)", NULL), 0);
    const char *at = strstr(line_4, "vm,algo-[1:2-3]-x@0(3)");
    CU_ASSERT_EQUAL(buf_printf(&line, NULL, "%.*s%s%s", (int)(at - line_4), line_4,
                               buf_text(&regex), at + strlen("vm,algo-[1:2-3]-x@0(3)")),
                    0);
    struct daemon_command gate = gate_for(OPENMPI_4_1);
    CU_ASSERT_EQUAL(daemon_command_check(&gate, line.data, line.size, &got, &err), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT(line.size + 4096 < FRAME_MAX); /* also as the member of a message */
}

static void every_cut_of_a_good_line_is_refused_or_complete(void) {
    struct daemon_command gate = gate_for(OPENMPI_4_1);
    for (size_t size = 0; size < strlen(line_4); size++) {
        cleanup_argv struct argv got = {0};
        if (daemon_command_check(&gate, line_4, size, &got, NULL) != 0) {
            CU_ASSERT_PTR_NULL(got.items);
            continue;
        }
        CU_ASSERT(line_4 + size >= strstr(line_4, " --mca plm_rsh_agent"));
        CU_ASSERT_STRING_EQUAL(got.items[0], "/usr/bin/orted");
    }
}

/* The user's own policies, which every host knows; no other ones. */
static void policies_are_the_jobs(void) {
    struct daemon_command gate = gate_for(OPENMPI_4_1);
    const char *line =
        edited(line_4, "hwloc_base_binding_policy \"none\"", "hwloc_base_binding_policy \"core\"");
    cleanup_argv struct argv refused = {0};
    cleanup_argv struct argv taken = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(daemon_command_check(&gate, line, strlen(line), &refused, &err), -1);
    ASSERT_CONTAINS(err.text, "core");
    snprintf(options.bind_to, sizeof(options.bind_to), "core");
    CU_ASSERT_EQUAL(daemon_command_check(&gate, line, strlen(line), &taken, NULL), 0);
    snprintf(options.map_by, sizeof(options.map_by), "numa");
    CU_ASSERT_EQUAL(daemon_command_check(&gate, line, strlen(line), &refused, &err), -1);
    ASSERT_CONTAINS(err.text, "slot");
}

static void a_master_that_is_a_host_of_its_own_counts_one_more(void) {
    struct error err = {0};
    const char *line = edited(line_4, "num_procs \"3\"", "num_procs \"4\"");
    CU_ASSERT_STRING_NOT_EQUAL(rebuilt(OPENMPI_4_1, line, &err), "");
}

UNIT_SUITE("mpi.daemon_command", UNIT(what_mpirun_4_1_asks_for_is_rebuilt),
           UNIT(what_mpirun_5_0_asks_for_is_rebuilt),
           UNIT(a_daemon_does_not_hear_what_ranks_talk_by), UNIT(anything_else_is_refused_on_4_1),
           UNIT(anything_else_is_refused_on_5_0),
           UNIT(every_cut_of_a_good_line_is_refused_or_complete), UNIT(a_jobs_name_has_a_length),
           UNIT(the_largest_job_fits), UNIT(policies_are_the_jobs),
           UNIT(a_master_that_is_a_host_of_its_own_counts_one_more))
