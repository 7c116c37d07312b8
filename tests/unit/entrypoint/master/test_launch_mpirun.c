#include "tests/unit/entrypoint/stage.h"

#include "entrypoint/master/launch_mpirun.h"
#include "entrypoint/wire/frame.h"

#include "tests/support/addresses.h"

#include <string.h>
#include <sys/socket.h>

static struct stage_host host;

static const char *const two_ranks[] = {"RINGMASTER_HOSTS=127.0.0.1:2", "RINGMASTER_HOST=127.0.0.1",
                                        NULL};

static void mpirun_starts_a_rank_on_every_slot(void) {
    const char *words[] = {"--", "sh", "-c", "echo $RANK of $WORLD_SIZE, $LOCAL_RANK here", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&host, "two", two_ranks, words);
    CU_ASSERT_EQUAL(stage_end(&host), 0);
    ASSERT_CONTAINS(stage_output(&host), "[127.0.0.1 rank 0] 0 of 2, 0 here\n");
    ASSERT_CONTAINS(stage_output(&host), "[127.0.0.1 rank 1] 1 of 2, 1 here\n");
}

static void hostile_words_arrive_unchanged(void) {
    const char *words[] = {"--",   "sh", "-c",   "for w; do echo \"<$w>\"; done",
                           "sh",   ":",  "--np", "$(touch x)",
                           "a  b", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&host, "hostile", two_ranks, words);
    CU_ASSERT_EQUAL(stage_end(&host), 0);
    const char *output = stage_output(&host);
    ASSERT_CONTAINS(output, "rank 1] <:>\n");
    ASSERT_CONTAINS(output, "rank 1] <--np>\n");
    ASSERT_CONTAINS(output, "rank 1] <$(touch x)>\n");
    ASSERT_CONTAINS(output, "rank 1] <a  b>\n");
}

/* One that says little about itself and then prints a banner, as mpirun does, and fails. */
static const char foreign[] =
    "#!/bin/sh\n[ \"$1\" != --version ] || { echo 'mpirun (Open MPI) 4.1.99'; exit 0; }\n"
    "echo ------------- >&2; echo 'There are not enough slots.' >&2\n"
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do echo \"advice $i\" >&2; done; exit 1\n";

static void the_mpirun_that_is_first_in_the_path_is_named_and_its_first_words_are_kept(void) {
    char path[STAGE_PATH_SIZE];
    char folder[STAGE_PATH_SIZE];
    char variable[STAGE_PATH_SIZE + 64];
    const char *const settings[] = {two_ranks[0], two_ranks[1], variable, NULL};
    const char *words[] = {"--", "true", NULL};
    (void)snprintf(folder, sizeof(folder), "%s/foreign", unit_temp_dir());
    CU_ASSERT_EQUAL(file_make_dirs(folder, NULL), 0);
    (void)snprintf(path, sizeof(path), "%.400s/mpirun", folder);
    CU_ASSERT_EQUAL(file_publish(path, foreign, sizeof(foreign) - 1, 0755, NULL), 0);
    (void)snprintf(variable, sizeof(variable), "PATH=%.400s:/usr/bin:/bin", folder);
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&host, "foreign", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_INTERNAL);
    ASSERT_CONTAINS(stage_output(&host), "/foreign/mpirun, of Open MPI 4.1.99");
    ASSERT_CONTAINS(stage_failure(&host), "There are not enough slots.\nadvice 1\n");
    ASSERT_CONTAINS(stage_failure(&host), "advice 14\n");
}

/* A master, with no link to its second host, and an agent's end of the link to it. */
static struct cluster_host two[2];
static struct job job;
static struct master m;
static struct member members[2];
static struct link *agent;
static int64_t left; /* the code that the agent got, -1 while it has none */
static bool parted;

static void told(void *context, const json_t *message) {
    (void)context;
    CU_ASSERT_STRING_EQUAL(frame_type(message), "leave");
    left = json_integer_value(json_object_get(message, "code"));
    loop_end(&m.s.loop);
}

static void cut(void *context, const struct error *why) {
    (void)context;
    (void)why;
    parted = true;
    loop_end(&m.s.loop);
}

static const struct link_events agent_events = {.message = told, .closed = cut};

static unsigned failures;

static void count_failures(struct master *master, const struct raised *what) {
    (void)master;
    failures += what->event == EVENT_FAILURE;
}

static void set_up(void) {
    struct error err;
    failures = 0;
    two[0] = (struct cluster_host){.name = {"algo-1"}, .slots = 1};
    two[1] = (struct cluster_host){.name = {"algo-2"}, .slots = 1};
    for (uint32_t i = 0; i < 2; i++) {
        two[i].address = address_of(i == 0 ? "10.0.0.1" : "10.0.0.2");
        members[i] = (struct member){.master = &m, .index = i};
    }
    job = (struct job){.cluster = {.hosts = two, .count = 2}};
    m = (struct master){
        .s = {.job = &job}, .phase = PHASE_RUNNING, .members = members, .raise = count_failures};
    CU_ASSERT_EQUAL_FATAL(loop_init(&m.s.loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 1, &job.cluster, &err), 0);
}

static void take_down(void) {
    link_free(agent);
    agent = NULL;
    for (int i = 0; i < 2; i++)
        link_free(members[i].agent);
    attempt_done(&m.attempt);
    loop_done(&m.s.loop);
}

/* An agent comes and says WHAT. */
static void send_agent(const char *what) {
    struct error err;
    int fds[2];
    json_t *message = json_loads(what, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(message);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    link_free(agent);
    left = -1;
    parted = false;
    agent = link_new(&m.s.loop, fds[0], NULL, false, &agent_events, NULL, &err);
    struct link *ours = link_new(&m.s.loop, fds[1], NULL, true, &agent_events, NULL, &err);
    launch_agent(&m, ours, message);
    json_decref(message);
}

static void out_of_patience(void *context) {
    (void)context;
    loop_end(&m.s.loop);
}

static void run_for(int64_t nanoseconds) {
    struct error err;
    struct timer patience = {.fire = out_of_patience};
    loop_after(&m.s.loop, &patience, nanoseconds);
    CU_ASSERT_EQUAL(loop_run(&m.s.loop, &err), 0);
    loop_cancel(&m.s.loop, &patience);
}

static const char wanted[] = "{\"host\": \"10.0.0.2\", \"attempt\": 1, \"command\": \"orted\"}";

static void an_agent_leaves_as_its_daemon_did(void) {
    json_t *ended = json_pack("{s:i}", "code", 0);
    set_up();
    send_agent(wanted);
    CU_ASSERT_PTR_NOT_NULL(members[1].agent);
    launch_daemon_ended(&members[1], ended);
    run_for(10 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(left, 0);
    json_decref(ended);
    take_down();
}

/* mpirun may end before its daemons do; no message is sent to an agent that is gone. */
static void an_agent_may_be_gone_before_its_daemon(void) {
    json_t *ended = json_pack("{s:i}", "code", 0);
    set_up();
    send_agent(wanted);
    link_free(agent);
    agent = NULL;
    for (int i = 0; i < 200 && members[1].agent != NULL; i++)
        run_for(CLOCK_SECOND / 20);
    CU_ASSERT_PTR_NULL(members[1].agent);
    launch_daemon_ended(&members[1], ended);
    launch_agent_leave(&members[1], 1);
    send_agent(wanted);
    CU_ASSERT_PTR_NOT_NULL(members[1].agent);
    json_decref(ended);
    take_down();
}

static void daemon_said(const char *what) {
    json_t *message = json_loads(what, 0, NULL);
    launch_daemon_ended(&members[1], message);
    json_decref(message);
}

/* Told with its host's clock. */
static void a_daemon_that_was_killed_is_reported_as_that(void) {
    set_up();
    members[1].offset = 1000;
    daemon_said("{\"code\": 137, \"signal\": 9, \"memory\": 2, \"time\": 6000}");
    CU_ASSERT_EQUAL(failures, 1);
    CU_ASSERT(m.attempt.tool.host == 1 && m.attempt.tool.signal == 9);
    CU_ASSERT_EQUAL(m.attempt.tool.time, 5000);
    ASSERT_CONTAINS(m.attempt.tool_note, "algo-2: ");
    ASSERT_CONTAINS(m.attempt.tool_note, " was killed by signal 9 (SIGKILL); out of memory: the");
    take_down();
    set_up();
    daemon_said("{\"code\": 70, \"text\": \"no such file\"}");
    CU_ASSERT_EQUAL(failures, 0);
    CU_ASSERT_EQUAL(m.attempt.tool.time, 0);
    take_down();
    set_up();
    daemon_said("{\"code\": 1, \"signal\": -9, \"memory\": 99, \"time\": -1}");
    CU_ASSERT_EQUAL(failures, 1);
    CU_ASSERT(m.attempt.tool.signal == 0 && m.attempt.tool.time > 0);
    take_down();
}

/* Ends only when the master kills it, which is after the master has seen mpirun's end. */
static const char stubborn[] = "trap '' HUP INT TERM;";

/* A rank's shim is a child of mpirun's here. The ranks run PREPARE first. */
static int end_mpirun_by(const char *signal, const char *prepare, const char *restarts) {
    char script[256];
    const char *const settings[] = {two_ranks[0], two_ranks[1], restarts, NULL};
    const char *words[] = {"--", "sh", "-c", script, NULL};
    (void)snprintf(script, sizeof(script),
                   "[ $RINGMASTER_ATTEMPT = 1 ] || exit 0; %s [ $RANK = 1 ] && "
                   "kill -%s $(cut -d ' ' -f 4 /proc/$PPID/stat); exec sleep 60",
                   prepare, signal);
    stage_start(&host, "killed", settings, words);
    return stage_end(&host);
}

static void an_mpirun_that_is_killed_is_the_cause_and_may_be_tried_again(void) {
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    CU_ASSERT_EQUAL(end_mpirun_by("KILL", stubborn, "RINGMASTER_RESTARTS=0"), 137);
    ASSERT_CONTAINS(stage_failure(&host),
                    "signal: 127.0.0.1: mpirun was killed by signal 9 (SIGKILL)");
    CU_ASSERT_EQUAL(end_mpirun_by("KILL", stubborn, "RINGMASTER_RESTARTS=1"), 0);
    ASSERT_CONTAINS(stage_output(&host), "mpirun was killed by signal 9 (SIGKILL)");
    CU_ASSERT_EQUAL(end_mpirun_by("TERM", "", "RINGMASTER_RESTARTS=1"), 0);
    /* mpirun kills a shim that gets no processor for a second before it can report. */
    if (strstr(stage_output(&host), "vanished without a report") == NULL)
        ASSERT_CONTAINS(stage_output(&host), "something sent a signal to them or to mpirun");
}

static void the_agent_of_a_lost_host_leaves_at_once(void) {
    set_up();
    members[1].lost = true;
    send_agent(wanted);
    run_for(10 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(left, EXIT_CODE_HOST_LOST);
    take_down();
}

static void expect_refusal(const char *what) {
    send_agent(what);
    run_for(10 * CLOCK_SECOND);
    CU_ASSERT(parted);
    CU_ASSERT_EQUAL(left, -1);
    CU_ASSERT(m.launch.agent_warned);
    m.launch.agent_warned = false;
}

static void an_agent_that_mpirun_did_not_call_is_refused(void) {
    set_up();
    expect_refusal("{\"host\": \"10.0.0.2\", \"attempt\": 2, \"command\": \"orted\"}");
    expect_refusal("{\"host\": \"10.0.0.1\", \"attempt\": 1, \"command\": \"orted\"}");
    expect_refusal("{\"host\": \"10.0.0.9\", \"attempt\": 1, \"command\": \"orted\"}");
    expect_refusal("{\"host\": 2, \"attempt\": 1, \"command\": \"orted\"}");
    expect_refusal("{\"host\": \"10.0.0.2\", \"attempt\": 1}");
    m.phase = PHASE_CLEARING;
    expect_refusal(wanted);
    m.phase = PHASE_RUNNING;
    two[1].gone = true;
    expect_refusal(wanted);
    two[1].gone = false;
    m.attempt.started_count = 1;
    expect_refusal(wanted);
    m.attempt.started_count = 0;
    m.s.host.rank_set.started = true;
    expect_refusal(wanted);
    m.s.host.rank_set.started = false;
    m.attempt.direct = true;
    expect_refusal(wanted);
    m.attempt.direct = false;
    CU_ASSERT_PTR_NULL(members[1].agent);
    send_agent(wanted);
    struct link *first = members[1].agent;
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    struct link *kept = agent;
    agent = NULL;
    expect_refusal(wanted);
    CU_ASSERT_PTR_EQUAL(members[1].agent, first);
    link_free(kept);
    take_down();
}

STAGE_SUITE("master.launch_mpirun", UNIT(mpirun_starts_a_rank_on_every_slot),
            UNIT(hostile_words_arrive_unchanged),
            UNIT(the_mpirun_that_is_first_in_the_path_is_named_and_its_first_words_are_kept),
            UNIT(an_agent_leaves_as_its_daemon_did), UNIT(an_agent_may_be_gone_before_its_daemon),
            UNIT(a_daemon_that_was_killed_is_reported_as_that),
            UNIT(an_mpirun_that_is_killed_is_the_cause_and_may_be_tried_again),
            UNIT(the_agent_of_a_lost_host_leaves_at_once),
            UNIT(an_agent_that_mpirun_did_not_call_is_refused))
