#include "tests/unit/entrypoint/outcome/verdict_case.h"

#include <signal.h>
#include <string.h>

static void all_zero_is_success_whatever_mpirun_says(void) {
    all_ended_well();
    facts.mpirun_code = 1;
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 0);
    CU_ASSERT_STRING_EQUAL(v.class_name, "success");
    CU_ASSERT(v.host == -1 && v.rank == -1);
}

static void a_missing_report_is_never_success(void) {
    all_ended_well();
    facts.report_count = 5;
    facts.mpirun_words = "prted: failed to start";
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_INTERNAL);
    CU_ASSERT(v.rank == 5 && v.host == 2);
    ASSERT_CONTAINS(v.text, "algo-3 rank 5: it sent no report (5 of 6");
    CU_ASSERT_STRING_EQUAL(v.log_tail, "prted: failed to start");
    facts.report_count = 0;
    v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_INTERNAL);
    CU_ASSERT(v.rank == 0 && v.host == 0);
    facts.tool_words = "algo-2 started no orted: why";
    v = judged();
    CU_ASSERT_STRING_EQUAL(v.text, "algo-2 started no orted: why");
    CU_ASSERT_FALSE(v.transient); /* it would be refused again */
}

static void the_earliest_failure_is_the_cause(void) {
    all_ended_well();
    end_rank(2, RANK_EXITED, 42, RANK_CAUSE_NONE, MS(500));
    end_rank(4, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(700));
    end_rank(0, RANK_SIGNALLED, SIGKILL, RANK_CAUSE_TEARDOWN, MS(400));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 42);
    CU_ASSERT_STRING_EQUAL(v.class_name, "program");
    CU_ASSERT_STRING_EQUAL(v.text, "algo-2 rank 2: exited with 42");
    CU_ASSERT_STRING_EQUAL(v.log_tail, "last words of 2");
    CU_ASSERT(v.host == 1 && v.rank == 2);
}

static void what_mpirun_complains_of_stands_behind_the_rest(void) {
    all_ended_well();
    end_rank(2, RANK_EXITED, 15, RANK_CAUSE_NONE, MS(500));
    facts.mpi_error_text = "MPI_ERR_TRUNCATE: message truncated";
    struct verdict v = judged();
    CU_ASSERT_STRING_EQUAL(v.evidence, "mpirun: MPI_ERR_TRUNCATE: message truncated");
    CU_ASSERT_STRING_EQUAL(v.log_tail, "last words of 2");
    (void)snprintf(reports[2].evidence, sizeof(reports[2].evidence), "kernel: x");
    CU_ASSERT_STRING_EQUAL(judged().evidence,
                           "kernel: x\nmpirun: MPI_ERR_TRUNCATE: message truncated");
    facts.mpi_error_text = "";
    CU_ASSERT_STRING_EQUAL(judged().evidence, "kernel: x");
    reports[2].evidence[0] = '\0';
}

/* It may be why the others have failed. */
static void a_rank_that_had_ended_with_0_before_is_told(void) {
    all_ended_well();
    end_rank(2, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(1500));
    (void)snprintf(reports[2].evidence, sizeof(reports[2].evidence), "exception: x");
    reports[0].time = reports[1].time = reports[3].time = reports[4].time = MS(1600);
    CU_ASSERT_STRING_EQUAL(judged().evidence,
                           "ended with 0: rank 5 on algo-3, 0.5 s before\nexception: x");
    reports[4].time = MS(700);
    CU_ASSERT_STRING_EQUAL(judged().evidence,
                           "ended with 0: rank 4 on algo-3, 0.8 s before, the first of "
                           "2\nexception: x");
    reports[4].time = MS(1400); /* those that end after the exception were not missed */
    reports[2].time = MS(5000);
    reports[2].raised = MS(0);
    CU_ASSERT_STRING_EQUAL(judged().evidence, "exception: x");
    reports[2].raised = MS(900);
    CU_ASSERT_EQUAL(strncmp(judged().evidence, "ended with 0: rank 5 on algo-3, 4.0 s before", 44),
                    0);
    reports[2].evidence[0] = '\0';
}

static void a_rank_that_had_not_ended_after_an_exception_is_told(void) {
    all_ended_well();
    end_rank(2, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(500));
    (void)snprintf(reports[2].evidence, sizeof(reports[2].evidence), "exception: x");
    facts.lasting = "rank 4 on algo-3, KeyError: 7 (train.py, line 3)";
    facts.lasting_since = MS(500 - 1001);
    facts.others = "rank 0 on algo-1 (running)";
    CU_ASSERT_STRING_EQUAL(
        judged().evidence,
        "not ended after its exception: rank 4 on algo-3, KeyError: 7 (train.py, "
        "line 3)\nexception: x\nothers then: rank 0 on algo-1 (running)");
    facts.lasting_since = MS(500 - 1000); /* another victim */
    CU_ASSERT_STRING_EQUAL(judged().evidence,
                           "exception: x\nothers then: rank 0 on algo-1 (running)");
    reports[2].raised = MS(400); /* before that of the rank that failed first */
    facts.lasting_since = MS(400 - 1001);
    CU_ASSERT_EQUAL(strncmp(judged().evidence, "not ended", 9), 0);
    reports[2].evidence[0] = '\0';
}

static void within_50_ms_a_signal_outranks_an_exit(void) {
    all_ended_well();
    end_rank(1, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(500));
    end_rank(5, RANK_SIGNALLED, SIGSEGV, RANK_CAUSE_NONE, MS(549));
    end_rank(3, RANK_SIGNALLED, SIGABRT, RANK_CAUSE_NONE, MS(550));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 139);
    CU_ASSERT_EQUAL(v.rank, 5);
    CU_ASSERT_STRING_EQUAL(v.class_name, "signal");
    CU_ASSERT_STRING_EQUAL(v.text, "algo-3 rank 5: killed by signal 11 (SIGSEGV)");
    end_rank(3, RANK_SIGNALLED, SIGABRT, RANK_CAUSE_NONE, MS(540));
    CU_ASSERT_EQUAL(judged().rank, 3);
    end_rank(3, RANK_SIGNALLED, SIGABRT, RANK_CAUSE_TEARDOWN, MS(510));
    CU_ASSERT_EQUAL(judged().rank, 5);
    end_rank(5, RANK_SIGNALLED, SIGSEGV, RANK_CAUSE_NONE, MS(551));
    v = judged();
    CU_ASSERT_EQUAL(v.code, 1);
    CU_ASSERT_EQUAL(v.rank, 1);
}

/* The tie to the nanosecond, with no other crash that would win anyway. */
static void the_tie_ends_after_50_ms_exactly(void) {
    all_ended_well();
    end_rank(1, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(500));
    end_rank(5, RANK_SIGNALLED, SIGSEGV, RANK_CAUSE_NONE, MS(500) + FIRST_FAILURE_TIE_NS);
    CU_ASSERT_EQUAL(judged().rank, 5);
    end_rank(5, RANK_SIGNALLED, SIGSEGV, RANK_CAUSE_NONE, MS(500) + FIRST_FAILURE_TIE_NS + 1);
    CU_ASSERT_EQUAL(judged().rank, 1);
    CU_ASSERT_EQUAL(FIRST_FAILURE_TIE_NS, 50000000);
}

static void a_stop_after_a_stall_changes_nothing(void) {
    all_ended_well();
    facts.stalled = MS(100);
    facts.stalled_rank = 3;
    facts.stalled_host = 1;
    facts.stop_host = 2;
    facts.stop_asked = MS(101);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STALLED);
    facts.stop_asked = MS(99);
    CU_ASSERT_NOT_EQUAL(judged().code, EXIT_CODE_STALLED);
}

static void a_vanished_rank_counts_as_killed(void) {
    all_ended_well();
    end_rank(4, RANK_VANISHED, 0, RANK_CAUSE_NONE, MS(520));
    end_rank(0, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(500));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 137);
    CU_ASSERT_EQUAL(v.rank, 4);
    ASSERT_CONTAINS(v.text, "algo-3 rank 4: vanished");
    CU_ASSERT_STRING_EQUAL(v.class_name, "signal");
}

static void a_lost_host_outranks_its_consequences(void) {
    static const struct verdict_loss losses[] = {{2, MS(9000), "no heartbeat for 10 s"},
                                                 {1, MS(8000), "its link closed"},
                                                 {0, MS(8500), "its link closed"}};
    all_ended_well();
    end_rank(0, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(500));
    facts.losses = losses;
    facts.loss_count = 3;
    facts.report_count = 2;
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_STRING_EQUAL(v.class_name, "host-lost");
    CU_ASSERT_STRING_EQUAL(v.text, "algo-2: lost: its link closed");
    CU_ASSERT(v.host == 1 && v.rank == -1);
}

static void a_loss_after_all_is_done_is_a_loss_too(void) {
    static const struct verdict_loss loss = {1, MS(2000), "its link closed"};
    all_ended_well();
    facts.losses = &loss;
    facts.loss_count = 1;
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_HOST_LOST);
}

static void a_stop_before_any_failure_is_a_stop(void) {
    static const struct verdict_loss loss = {1, MS(900), "its link closed"};
    all_ended_well();
    facts.stop_asked = MS(100);
    facts.stop_host = 2;
    for (unsigned i = 0; i < 6; i++)
        end_rank(i, RANK_EXITED, EXIT_CODE_STOPPED, RANK_CAUSE_STOP, MS(500));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STOPPED);
    CU_ASSERT_STRING_EQUAL(v.class_name, "stopped");
    CU_ASSERT_STRING_EQUAL(v.text, "stopped on request at algo-3");
    CU_ASSERT_STRING_EQUAL(v.log_tail, "");
    end_rank(1, RANK_SIGNALLED, SIGKILL, RANK_CAUSE_STOP, MS(700));
    end_rank(2, RANK_EXITED, 1, RANK_CAUSE_NONE, MS(600));
    facts.losses = &loss;
    facts.loss_count = 1;
    v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STOPPED);
    ASSERT_CONTAINS(v.log_tail, "algo-1 rank 1: killed by signal 9 (SIGKILL)");
}

/* At the end of the budget: no sign of a lack of memory, unlike a SIGKILL before it. */
static void our_own_kill_is_reported_as_that(void) {
    all_ended_well();
    facts.stop_asked = MS(100);
    facts.killed = MS(5000);
    end_rank(3, RANK_SIGNALLED, SIGKILL, RANK_CAUSE_STOP, MS(5003));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STOPPED);
    CU_ASSERT_STRING_EQUAL(
        v.log_tail, "algo-2 rank 3: killed, as it had not ended when the time to stop was over");
    end_rank(3, RANK_VANISHED, 0, RANK_CAUSE_STOP, MS(4990));
    ASSERT_CONTAINS(judged().log_tail, "the time to stop was over");
    end_rank(3, RANK_SIGNALLED, SIGKILL, RANK_CAUSE_STOP, MS(3000));
    ASSERT_CONTAINS(judged().log_tail, "killed by signal 9 (SIGKILL); out of memory?");
    end_rank(3, RANK_SIGNALLED, SIGSEGV, RANK_CAUSE_STOP, MS(5003));
    ASSERT_CONTAINS(judged().log_tail, "SIGSEGV");
}

/* Conformance case 20. */
static void what_the_kernel_counts_says_whether_memory_was_short(void) {
    static const struct {
        enum rank_end end;
        int value;
        enum rank_memory memory;
        const char *text;
    } rows[] = {
        {RANK_SIGNALLED, SIGKILL, RANK_MEMORY_UNKNOWN, "signal 9 (SIGKILL); out of memory?"},
        {RANK_SIGNALLED, SIGKILL, RANK_MEMORY_ENOUGH, "signal 9 (SIGKILL); not for lack of memory"},
        {RANK_SIGNALLED, SIGKILL, RANK_MEMORY_KILLED, "(SIGKILL); out of memory: the kernel"},
        {RANK_SIGNALLED, SIGSEGV, RANK_MEMORY_ENOUGH, "signal 11 (SIGSEGV)"},
        {RANK_SIGNALLED, SIGBUS, RANK_MEMORY_KILLED, "; is /dev/shm full?; out of memory: the"},
        {RANK_VANISHED, 0, RANK_MEMORY_UNKNOWN, "without a report; killed, or out of memory?"},
        {RANK_VANISHED, 0, RANK_MEMORY_ENOUGH, "without a report; killed?"},
        {RANK_VANISHED, 0, RANK_MEMORY_KILLED, "without a report; out of memory: the kernel"},
        {RANK_EXITED, 1, RANK_MEMORY_KILLED, "exited with 1; out of memory: the kernel"},
        {RANK_EXITED, 1, RANK_MEMORY_ENOUGH, "exited with 1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        all_ended_well();
        end_rank(3, rows[i].end, rows[i].value, RANK_CAUSE_NONE, MS(5003));
        reports[3].memory = rows[i].memory;
        struct verdict v = judged();
        ASSERT_CONTAINS(v.text, rows[i].text);
        const char *end = strstr(v.text, rows[i].text);
        bool told = strstr(rows[i].text, "the") != NULL;
        CU_ASSERT(told || (end != NULL && strlen(end) == strlen(rows[i].text)));
    }
}

static void the_launchers_codes_are_a_programs_own_where_a_program_says_them(void) {
    static const int codes[] = {EXIT_CODE_NOT_READY, EXIT_CODE_HOST_LOST, EXIT_CODE_STALLED,
                                EXIT_CODE_KEY_REFUSED};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        all_ended_well();
        end_rank(2, RANK_EXITED, codes[i], RANK_CAUSE_NONE, MS(500));
        struct verdict v = judged();
        CU_ASSERT_EQUAL(v.code, codes[i]);
        CU_ASSERT_STRING_EQUAL(v.class_name, "program");
        CU_ASSERT_FALSE(v.transient);
    }
    end_rank(2, RANK_EXITED, EXIT_CODE_DATA, RANK_CAUSE_NONE, MS(500));
    CU_ASSERT_STRING_EQUAL(judged().class_name, "data"); /* the trainer's, too */
}

static void a_stop_that_ranks_answer_with_0_is_a_stop_still(void) {
    all_ended_well();
    facts.stop_asked = MS(100);
    CU_ASSERT_EQUAL(judged().code, 0); /* they had ended by themselves */
    end_rank(3, RANK_EXITED, 0, RANK_CAUSE_STOP, MS(600));
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STOPPED);
    facts.report_count = 0;
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STOPPED);
}

static void a_stop_after_a_failure_changes_nothing(void) {
    all_ended_well();
    end_rank(2, RANK_EXITED, 42, RANK_CAUSE_NONE, MS(500));
    facts.stop_asked = MS(501);
    CU_ASSERT_EQUAL(judged().code, 42);
    facts.stop_asked = MS(500);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STOPPED);
    static const struct verdict_loss loss = {1, MS(90), "its link closed"};
    facts.losses = &loss;
    facts.loss_count = 1;
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_HOST_LOST);
}

static void a_stall_is_judged_by_its_time(void) {
    all_ended_well();
    for (unsigned i = 0; i < 6; i++)
        end_rank(i, RANK_SIGNALLED, SIGTERM, RANK_CAUSE_TEARDOWN, MS(700));
    facts.stalled = MS(600);
    facts.stalled_rank = 3;
    facts.stalled_host = 1;
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_STALLED);
    ASSERT_CONTAINS(v.text, "algo-2 rank 3");
    CU_ASSERT_STRING_EQUAL(v.log_tail, "last words of 3");
    end_rank(5, RANK_EXITED, 7, RANK_CAUSE_NONE, MS(599));
    CU_ASSERT_EQUAL(judged().code, 7);
}

static void the_first_line_has_what_our_own_program_said(void) {
    all_ended_well();
    end_rank(2, RANK_EXITED, EXIT_CODE_USAGE, RANK_CAUSE_NONE, MS(500));
    (void)snprintf(reports[2].lines, sizeof(reports[2].lines),
                   "2026-11-21T02:03:04.567Z error   an earlier one\nbetween\n"
                   "2026-11-21T02:03:04.568Z error   unknown flag --learning_rate; did you mean "
                   "--lr?\nlast words\n");
    struct verdict v = judged();
    CU_ASSERT_STRING_EQUAL(v.text, "algo-2 rank 2: exited with 64: unknown flag --learning_rate; "
                                   "did you mean --lr?");
    CU_ASSERT_STRING_EQUAL(v.class_name, "usage");
    reports[2].value = 1; /* a program of the user's */
    CU_ASSERT_STRING_EQUAL(judged().text, "algo-2 rank 2: exited with 1");
    reports[2].value = EXIT_CODE_USAGE;
    (void)snprintf(reports[2].lines, sizeof(reports[2].lines), "2026Z error   ");
    CU_ASSERT_STRING_EQUAL(judged().text, "algo-2 rank 2: exited with 64");
    memset(reports[2].lines, 'x', 1000);
    memcpy(reports[2].lines, "0Z error ", 9);
    reports[2].lines[1000] = '\0';
    CU_ASSERT_EQUAL(strlen(judged().text), strlen("algo-2 rank 2: exited with 64: ") + 240);
}

/* Ranks that wait for the connection are ended by us; what failed before it, or a stop, counts. */
static void connections_that_are_dropped_are_judged_by_their_time(void) {
    struct net_address source;
    CU_ASSERT(net_address_parse("10.77.0.2", &hosts[1].address));
    CU_ASSERT(net_address_parse("10.77.0.98", &source));
    all_ended_well();
    end_rank(0, RANK_SIGNALLED, SIGTERM, RANK_CAUSE_TEARDOWN, MS(700));
    facts.dropped = MS(600);
    facts.dropped_rank = 3;
    facts.dropped_source = &source;
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_CONFIG);
    CU_ASSERT(v.host == 1 && v.rank == -1 && !v.transient);
    ASSERT_CONTAINS(v.text, "algo-2 has the address 10.77.0.2, and its ranks' connections arrive "
                            "from 10.77.0.98: ");
    ASSERT_CONTAINS(v.text, "RINGMASTER_INTERFACE");
    facts.stalled = MS(650);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_CONFIG);
    facts.stalled = MS(550);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STALLED);
    facts.stalled = 0;
    facts.stop_asked = MS(550);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_STOPPED);
    facts.stop_asked = MS(650);
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_CONFIG);
    facts.stop_asked = 0;
    end_rank(5, RANK_EXITED, 3, RANK_CAUSE_NONE, MS(500));
    CU_ASSERT_EQUAL(judged().code, 3);
    end_rank(5, RANK_EXITED, 3, RANK_CAUSE_NONE, MS(650));
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_CONFIG);
    all_ended_well(); /* they found another way */
    facts.dropped = MS(600);
    facts.dropped_rank = 3;
    facts.dropped_source = &source;
    CU_ASSERT_EQUAL(judged().code, 0);
}

static void a_130_becomes_1_and_is_reported(void) {
    all_ended_well();
    end_rank(0, RANK_EXITED, 130, RANK_CAUSE_NONE, MS(500));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, 1);
    ASSERT_CONTAINS(v.text, "exited with 130");
    end_rank(0, RANK_SIGNALLED, SIGINT, RANK_CAUSE_NONE, MS(500));
    CU_ASSERT_EQUAL(judged().code, 1);
    CU_ASSERT_EQUAL(verdict_program_code(131), 131);
}

static void ranks_ended_for_no_known_cause_are_not_success(void) {
    all_ended_well();
    end_rank(0, RANK_SIGNALLED, SIGTERM, RANK_CAUSE_TEARDOWN, MS(500));
    struct verdict v = judged();
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_INTERNAL);
    CU_ASSERT(v.transient);
    ASSERT_CONTAINS(v.text, "something sent a signal to them or to mpirun");
    end_rank(0, RANK_EXITED, 0, RANK_CAUSE_TEARDOWN, MS(500)); /* it took that well */
    CU_ASSERT_EQUAL(judged().code, EXIT_CODE_INTERNAL);
}

static void an_error_becomes_a_verdict(void) {
    struct error err = {0};
    struct verdict v;
    error_set(&err, EXIT_CODE_NOT_READY, "no word from it");
    verdict_from_error(&err, &cluster, 1, &v);
    CU_ASSERT_EQUAL(v.code, EXIT_CODE_NOT_READY);
    CU_ASSERT_STRING_EQUAL(v.class_name, "not-ready");
    CU_ASSERT_STRING_EQUAL(v.text, "algo-2: no word from it");
    verdict_from_error(&err, &cluster, -1, &v);
    CU_ASSERT_STRING_EQUAL(v.text, "no word from it");
    CU_ASSERT_EQUAL(v.host, -1);
    const struct cluster first_two = {.hosts = hosts, .count = 2};
    verdict_from_error(&err, &first_two, 2, &v); /* there is one more in memory, but not in it */
    CU_ASSERT_STRING_EQUAL(v.text, "no word from it");
    CU_ASSERT_EQUAL(v.host, -1);
}

static void what_nobody_chose_may_be_tried_again(void) {
    static const struct {
        enum rank_end end;
        int value;
        bool transient;
    } cases[] = {{RANK_SIGNALLED, SIGKILL, true},  {RANK_SIGNALLED, SIGSEGV, true},
                 {RANK_SIGNALLED, SIGBUS, true},   {RANK_SIGNALLED, SIGABRT, true},
                 {RANK_VANISHED, 0, true},         {RANK_SIGNALLED, SIGTERM, false},
                 {RANK_SIGNALLED, SIGINT, false},  {RANK_SIGNALLED, SIGHUP, false},
                 {RANK_SIGNALLED, SIGQUIT, false}, {RANK_EXITED, 1, false},
                 {RANK_EXITED, 42, false},         {RANK_EXITED, EXIT_CODE_DATA, false},
                 {RANK_EXITED, 126, false},        {RANK_EXITED, 137, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        all_ended_well();
        CU_ASSERT_FALSE(judged().transient);
        end_rank(3, cases[i].end, cases[i].value, RANK_CAUSE_NONE, MS(1000));
        CU_ASSERT_EQUAL(judged().transient, cases[i].transient);
        facts.stop_asked = MS(900);
        CU_ASSERT_FALSE(judged().transient);
    }
    all_ended_well();
    facts.stalled = MS(500);
    CU_ASSERT(judged().transient);
    const struct verdict_loss loss = {.host = 1, .time = MS(400), .why = "silence"};
    facts.losses = &loss;
    facts.loss_count = 1;
    CU_ASSERT(judged().transient);
    all_ended_well();
    facts.report_count = 5;
    CU_ASSERT_FALSE(judged().transient);
}

UNIT_SUITE("outcome.verdict", UNIT(all_zero_is_success_whatever_mpirun_says),
           UNIT(a_missing_report_is_never_success), UNIT(the_earliest_failure_is_the_cause),
           UNIT(what_mpirun_complains_of_stands_behind_the_rest),
           UNIT(a_rank_that_had_ended_with_0_before_is_told),
           UNIT(a_rank_that_had_not_ended_after_an_exception_is_told),
           UNIT(within_50_ms_a_signal_outranks_an_exit), UNIT(a_vanished_rank_counts_as_killed),
           UNIT(the_tie_ends_after_50_ms_exactly), UNIT(a_stop_after_a_stall_changes_nothing),
           UNIT(a_lost_host_outranks_its_consequences),
           UNIT(a_loss_after_all_is_done_is_a_loss_too), UNIT(a_stop_before_any_failure_is_a_stop),
           UNIT(a_stop_that_ranks_answer_with_0_is_a_stop_still),
           UNIT(our_own_kill_is_reported_as_that),
           UNIT(what_the_kernel_counts_says_whether_memory_was_short),
           UNIT(the_launchers_codes_are_a_programs_own_where_a_program_says_them),
           UNIT(a_stop_after_a_failure_changes_nothing), UNIT(a_stall_is_judged_by_its_time),
           UNIT(connections_that_are_dropped_are_judged_by_their_time),
           UNIT(the_first_line_has_what_our_own_program_said),
           UNIT(a_130_becomes_1_and_is_reported),
           UNIT(ranks_ended_for_no_known_cause_are_not_success), UNIT(an_error_becomes_a_verdict),
           UNIT(what_nobody_chose_may_be_tried_again))
