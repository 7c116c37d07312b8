#include "entrypoint/host/supervisor.h"
#include "tests/support/held_clock.h"
#include "tests/unit/entrypoint/stage.h"

#include <sys/resource.h>
#include <sys/stat.h>

static struct stage_host host;

static int run(const char *script) {
    const char *words[] = {"--", "sh", "-c", script, NULL};
    stage_start(&host, "host", NULL, words);
    return stage_end(&host);
}

/* The script prints the pid of the process that it leaves running. */
static void what_a_program_leaves_behind_is_ended(void) {
    CU_ASSERT_EQUAL(run("setsid sh -c 'trap \"\" TERM; echo left $$; echo >$SM_MODEL_DIR; "
                        "sleep 100' & while [ ! -s $SM_MODEL_DIR ]; do sleep 0.05; done"),
                    0);
    const char *at = strstr(stage_output(&host), "] left ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    pid_t left = (pid_t)strtol(at + strlen("] left "), NULL, 10);
    CU_ASSERT(left > 1);
    CU_ASSERT(
        ended_within(left, STAGE_PATIENCE_SECONDS * 1000)); /* a busy machine takes a moment */
}

/* In a session of its own, as `setsid` and many daemons do. */
static void a_stop_reaches_what_left_the_programs_group(void) {
    const char *words[] = {"--", "sh", "-c",
                           "setsid sh -c 'trap \"echo the last words; exit 0\" TERM; echo apart; "
                           "while :; do sleep 0.05; done' & "
                           "(setsid sh -c 'trap \"echo of an orphan; exit 0\" TERM; echo alone; "
                           "while :; do sleep 0.05; done' &) ; "
                           "trap 'echo once; sleep 0.3; exit 3' TERM; echo ready; "
                           "while :; do sleep 0.05; done",
                           NULL};
    stage_start(&host, "apart", NULL, words);
    CU_ASSERT(stage_wait_for(&host, "] apart"));
    CU_ASSERT(stage_wait_for(&host, "] alone"));
    CU_ASSERT(stage_wait_for(&host, "] ready"));
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), 143);
    const char *output = stage_output(&host);
    ASSERT_CONTAINS(output, "] the last words\n");
    ASSERT_CONTAINS(output, "] of an orphan\n");
    const char *once = strstr(output, "] once\n");
    CU_ASSERT_PTR_NOT_NULL_FATAL(once);
    CU_ASSERT_PTR_NULL(strstr(once + 1, "] once\n"));
    const char *leaving = strstr(output, "leaving with 143");
    CU_ASSERT_PTR_NOT_NULL(leaving);
    CU_ASSERT(strstr(output, "the last words") < leaving);
}

static void a_failure_file_of_the_program_is_kept_and_an_old_one_is_not(void) {
    CU_ASSERT_EQUAL(run("exit 3"), 3);
    ASSERT_CONTAINS(stage_failure(&host), "exited with 3");
    CU_ASSERT_EQUAL(run("true"), 0);
    CU_ASSERT_STRING_EQUAL(stage_failure(&host), "");
    CU_ASSERT_EQUAL(run("mkdir -p $SM_OUTPUT_DIR; echo mine >$SM_OUTPUT_DIR/failure; exit 4"), 4);
    CU_ASSERT_STRING_EQUAL(stage_failure(&host), "mine\n");
}

/* They stand in the log already; the failure file, which goes elsewhere, has them too. */
static void its_own_ranks_last_words_are_reported_once(void) {
    CU_ASSERT_EQUAL(run("echo the last words; exit 3"), 3);
    const char *once = strstr(stage_output(&host), "the last words");
    CU_ASSERT_PTR_NOT_NULL_FATAL(once);
    CU_ASSERT_PTR_NULL(strstr(once + 1, "the last words"));
    ASSERT_CONTAINS(stage_failure(&host), "the last words");
}

static void a_signal_after_the_verdict_changes_nothing(void) {
    const char *words[] = {"--", "sh", "-c", "setsid sh -c 'trap \"\" TERM; sleep 100' & exit 5",
                           NULL};
    stage_start(&host, "late", NULL, words);
    CU_ASSERT(stage_wait_for(&host, "leaving with 5"));
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host), 5);
}

static void a_users_signal_reaches_the_ranks(void) {
    const char *words[] = {"--", "sh", "-c",
                           "trap 'echo heard one' USR1; trap 'exit 7' USR2; echo ready; "
                           "while :; do sleep 0.05; done",
                           NULL};
    stage_start(&host, "signals", NULL, words);
    CU_ASSERT(stage_wait_for(&host, "] ready"));
    (void)kill(host.pid, SIGUSR1);
    CU_ASSERT(stage_wait_for(&host, "] heard one"));
    CU_ASSERT(stage_wait_for(&host, "SIGUSR1: passed on to 1 rank of this host"));
    (void)kill(host.pid, SIGUSR2);
    CU_ASSERT_EQUAL(stage_end(&host), 7);
}

static void its_folder_is_gone_afterwards(void) {
    CU_ASSERT_EQUAL(run("true"), 0);
    char path[STAGE_PATH_SIZE];
    (void)snprintf(path, sizeof(path), "ls -d %s/ringmaster-* 2>/dev/null", unit_temp_dir());
    CU_ASSERT_EQUAL(run(path), 0);
    const char *output = stage_output(&host);
    const char *first = strstr(output, "/ringmaster-");
    CU_ASSERT_PTR_NOT_NULL(first);
    first = strstr(strstr(output, "rank 0]"), "/ringmaster-test-");
    CU_ASSERT_PTR_NOT_NULL(first); /* one folder: the running job's own */
    CU_ASSERT_PTR_NULL(strstr(strchr(first, '\n'), "rank 0]"));
}

static int run_first(void (*first)(void), const char *const *settings, const char *script) {
    const char *words[] = {"--", "sh", "-c", script, NULL};
    stage_first = first;
    stage_start(&host, "first", settings, words);
    stage_first = NULL;
    return stage_end(&host);
}

/* As main() does, and a stop comes right then. */
static void be_stopped(void) {
    sigset_t stops;
    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &stops, NULL);
    (void)kill(getpid(), SIGTERM);
}

static void a_stop_before_the_loop_begins_counts(void) {
    CU_ASSERT_EQUAL(run_first(be_stopped, NULL, "sleep 100"), 143);
    ASSERT_CONTAINS(stage_failure(&host), "stopped");
}

/* One pipe for both streams, full before the first word, which stays open and unread. */
static void speak_to_nobody(void) {
    static char bytes[64 * 1024];
    int ends[2];
    (void)!pipe(ends);
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], bytes, sizeof(bytes)) > 0)
        ;
    (void)fcntl(ends[1], F_SETFL, 0);
    (void)dup2(ends[1], 1);
    (void)dup2(ends[1], 2);
}

static void nobody_reading_its_words_changes_nothing(void) {
    CU_ASSERT_EQUAL(run_first(speak_to_nobody, NULL, "yes words | head -c 4000000; exit 9"), 9);
    ASSERT_CONTAINS(stage_failure(&host), "exited with 9");
}

static void a_required_key_is_asked_for_on_a_host_alone_too(void) {
    const char *without[] = {"RINGMASTER_REQUIRE_KEY=1", "RINGMASTER_KEY=", NULL};
    const char *with[] = {"RINGMASTER_REQUIRE_KEY=1", NULL};
    CU_ASSERT_EQUAL(run_first(NULL, without, "true"), EXIT_CODE_KEY_REFUSED);
    ASSERT_CONTAINS(stage_output(&host), "RINGMASTER_REQUIRE_KEY");
    CU_ASSERT_EQUAL(run_first(NULL, with, "true"), 0);
}

static void set_open_files(rlim_t soft, rlim_t hard) {
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void allow_few_open_files(void) {
    set_open_files(64, 4096);
}

static void allow_too_few_open_files(void) {
    set_open_files(64, 64);
}

static void programs_get_the_limit_of_open_files_that_they_would_have_had(void) {
    CU_ASSERT_EQUAL(run_first(allow_few_open_files, NULL, "exit $(ulimit -n)"), 64);
    CU_ASSERT_EQUAL(run_first(allow_too_few_open_files, NULL, "true"), EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(stage_failure(&host), "open files");
}

static unsigned stops, stops_again;

static void count_stop(void *state, bool again) {
    (void)state;
    *(again ? &stops_again : &stops) += 1;
}

/* A closing terminal, or a wrapper with its group, says it several times at once. */
static void signals_of_one_second_are_one_stop(void) {
    static const struct role role = {.stop = count_stop};
    static const int others[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        struct supervisor s = {.role = &role};
        stops = stops_again = 0;
        held_clock_begin();
        supervisor_signal(&s, SIGTERM);
        supervisor_signal(&s, others[i]);
        held_clock_pass(CLOCK_SECOND - 1);
        supervisor_signal(&s, others[i]);
        CU_ASSERT_EQUAL(stops, 1);
        CU_ASSERT_EQUAL(stops_again, 0);
        held_clock_pass(1);
        supervisor_signal(&s, others[i]);
        CU_ASSERT_EQUAL(stops, 1);
        CU_ASSERT_EQUAL(stops_again, others[i] != SIGHUP);
        held_clock_end();
    }
}

STAGE_SUITE("host.supervisor", UNIT(signals_of_one_second_are_one_stop),
            UNIT(what_a_program_leaves_behind_is_ended),
            UNIT(a_stop_reaches_what_left_the_programs_group),
            UNIT(a_failure_file_of_the_program_is_kept_and_an_old_one_is_not),
            UNIT(its_own_ranks_last_words_are_reported_once),
            UNIT(a_signal_after_the_verdict_changes_nothing),
            UNIT(a_users_signal_reaches_the_ranks), UNIT(its_folder_is_gone_afterwards),
            UNIT(a_stop_before_the_loop_begins_counts),
            UNIT(nobody_reading_its_words_changes_nothing),
            UNIT(a_required_key_is_asked_for_on_a_host_alone_too),
            UNIT(programs_get_the_limit_of_open_files_that_they_would_have_had))
