#include "entrypoint/master/state/attempt.h"
#include "tests/support/unit.h"

#include <string.h>

/* Five ranks on three hosts; host 1 is gone. */
static struct cluster_host hosts[] = {{.name = {"algo-1"}, .slots = 2},
                                      {.name = {"algo-2"}, .slots = 7, .gone = true},
                                      {.name = {"algo-3"}, .slots = 3}};
static const struct cluster cluster = {.hosts = hosts, .count = 3};
static struct attempt a;

static void begin(void) {
    CU_ASSERT_EQUAL_FATAL(attempt_open(&a, 2, &cluster, NULL), 0);
}

static bool report(unsigned host, unsigned rank, enum rank_end end, int value) {
    const struct rank_report r = {.host = host, .rank = rank, .end = end, .value = value};
    return attempt_report(&a, &r);
}

static void a_rank_is_its_hosts(void) {
    begin();
    CU_ASSERT_EQUAL(a.ranks, 5);
    CU_ASSERT(attempt_is_rank_of(&a, 0, 1));
    CU_ASSERT(attempt_is_rank_of(&a, 2, 2));
    CU_ASSERT(attempt_is_rank_of(&a, 2, 4));
    CU_ASSERT_FALSE(attempt_is_rank_of(&a, 0, 2));
    CU_ASSERT_FALSE(attempt_is_rank_of(&a, 1, 2));
    CU_ASSERT_FALSE(attempt_is_rank_of(&a, 2, 5));
    CU_ASSERT_FALSE(attempt_is_rank_of(&a, 0, -1));
    CU_ASSERT_FALSE(report(0, 3, RANK_EXITED, 0)); /* another host's word */
    CU_ASSERT_EQUAL(a.report_count, 0);
    CU_ASSERT_EQUAL(attempt_stall(&a, 0, 3, "", 7), ATTEMPT_STALL_NOTHING);
    CU_ASSERT_EQUAL(a.stalled, 0);
    attempt_done(&a);
}

static void the_last_seat_is_reported(void) {
    begin();
    for (int rank = 0; rank < 4; rank++)
        CU_ASSERT_FALSE(attempt_rank_started(&a, rank < 2 ? 0 : 2, rank));
    CU_ASSERT_FALSE(attempt_rank_started(&a, 2, 3)); /* taken */
    CU_ASSERT_FALSE(attempt_rank_started(&a, 0, 4)); /* not its own */
    CU_ASSERT_FALSE(attempt_all_started(&a));
    CU_ASSERT(attempt_rank_started(&a, 2, 4));
    CU_ASSERT(attempt_all_started(&a));
    attempt_done(&a);
}

static void of_two_reports_the_failure_counts(void) {
    begin();
    CU_ASSERT(report(0, 0, RANK_EXITED, 0));
    CU_ASSERT_FALSE(report(0, 0, RANK_EXITED, 0));
    CU_ASSERT(report(0, 0, RANK_EXITED, 7));
    CU_ASSERT_FALSE(report(0, 0, RANK_EXITED, 0));
    CU_ASSERT_FALSE(report(0, 0, RANK_SIGNALLED, 9));
    CU_ASSERT_EQUAL(a.report_count, 1);
    CU_ASSERT_EQUAL(a.reports[0].value, 7);
    attempt_done(&a);
}

static void it_is_complete_without_those_who_are_lost(void) {
    begin();
    CU_ASSERT(report(0, 0, RANK_EXITED, 0) && report(0, 1, RANK_EXITED, 0));
    CU_ASSERT(report(2, 3, RANK_EXITED, 0));
    CU_ASSERT_FALSE(attempt_is_complete(&a));
    attempt_lose(&a, 2, 5, "silence");
    attempt_lose(&a, 2, 6, "once more");
    attempt_lose(&a, 3, 6, "nobody");
    CU_ASSERT_EQUAL(a.loss_count, 1);
    CU_ASSERT_STRING_EQUAL(a.losses[0].why, "silence");
    CU_ASSERT_EQUAL(a.losses[0].time, 5);
    CU_ASSERT(attempt_is_complete(&a));
    attempt_done(&a);
    attempt_lose(&a, 0, 5, "between two attempts nobody counts");
    CU_ASSERT_EQUAL(a.loss_count, 0);
}

static void shims_stay_while_a_stop_runs(void) {
    begin();
    attempt_stop(&a, 2, 100);
    CU_ASSERT_FALSE(attempt_holds(&a));
    CU_ASSERT(attempt_send_stop(&a));
    CU_ASSERT_FALSE(attempt_send_stop(&a));
    CU_ASSERT(attempt_holds(&a));
    attempt_kill(&a, 200);
    CU_ASSERT_FALSE(attempt_holds(&a));
    attempt_stop_late(&a, 0, 300);
    CU_ASSERT_EQUAL(a.stop_host, 2); /* the first one asked */
    CU_ASSERT_EQUAL(attempt_stop_began(&a), 100);
    struct verdict_facts facts;
    attempt_facts(&a, &cluster, NULL, &facts);
    CU_ASSERT_EQUAL(facts.killed, 200);
    attempt_done(&a);
    begin();
    attempt_stop_late(&a, 2, 250);
    attempt_stop_late(&a, 0, 300);
    CU_ASSERT_EQUAL(a.stop_host, 2);
    CU_ASSERT_EQUAL(a.stop_asked, 0); /* too late for its verdict */
    CU_ASSERT_EQUAL(attempt_stop_began(&a), 250);
    attempt_done(&a);
}

static enum attempt_note end_tool(const char *name, int code, int signal, const char *refusal) {
    const struct attempt_tool tool = {.host = 2,
                                      .host_name = "algo-3",
                                      .name = name,
                                      .code = code,
                                      .signal = signal,
                                      .time = 500 + signal,
                                      .refusal = refusal};
    return attempt_note_tool(&a, &tool);
}

static enum attempt_note note(int code, const char *refusal) {
    return end_tool("orted", code, 0, refusal);
}

static void the_first_daemon_that_failed_is_noted(void) {
    struct verdict_facts facts;
    begin();
    CU_ASSERT_EQUAL(note(0, ""), ATTEMPT_NOTE_NOTHING);
    CU_ASSERT_EQUAL(note(77, "no such word"), ATTEMPT_NOTE_REFUSAL);
    CU_ASSERT_EQUAL(note(77, "nor that"), ATTEMPT_NOTE_REFUSAL);
    CU_ASSERT_STRING_EQUAL(a.tool_note, "algo-3 started no orted: nor that");
    attempt_facts(&a, &cluster, NULL, &facts);
    CU_ASSERT_EQUAL(facts.tool.time, 0);
    CU_ASSERT_EQUAL(note(137, ""), ATTEMPT_NOTE_FAILURE);
    CU_ASSERT_EQUAL(note(1, ""), ATTEMPT_NOTE_NOTHING);
    CU_ASSERT_EQUAL(note(77, "too late"), ATTEMPT_NOTE_NOTHING);
    ASSERT_CONTAINS(a.tool_note, "algo-3: orted ended with 137 though no rank had failed");
    attempt_facts(&a, &cluster, NULL, &facts);
    CU_ASSERT(facts.tool.time == 500 && facts.tool.host == 2 && facts.tool.signal == 0);
    attempt_done(&a);
    begin();
    attempt_begin_end(&a);
    CU_ASSERT_EQUAL(note(1, ""), ATTEMPT_NOTE_NOTHING); /* it went down with the others */
    CU_ASSERT_EQUAL(end_tool("mpirun", 137, 9, ""), ATTEMPT_NOTE_NOTHING);
    attempt_done(&a);
    begin();
    attempt_mpirun_ended(&a, 0);
    CU_ASSERT_EQUAL(note(1, ""), ATTEMPT_NOTE_NOTHING);
    attempt_done(&a);
}

/* Daemons leave when mpirun is gone, and may be heard of first. */
static void one_that_was_killed_is_the_cause_of_one_that_left(void) {
    begin();
    CU_ASSERT_EQUAL(note(1, ""), ATTEMPT_NOTE_FAILURE);
    attempt_begin_end(&a);
    CU_ASSERT_EQUAL(end_tool("mpirun", 137, 9, ""), ATTEMPT_NOTE_NOTHING);
    CU_ASSERT_STRING_EQUAL(a.tool_note,
                           "algo-3: mpirun was killed by signal 9 (SIGKILL); out of memory?");
    CU_ASSERT(a.tool.signal == 9 && a.tool.time == 509);
    CU_ASSERT_EQUAL(end_tool("orted", 139, 11, ""), ATTEMPT_NOTE_NOTHING);
    CU_ASSERT_EQUAL(a.tool.signal, 9);
    attempt_done(&a);
}

static void reports_are_missed_until_they_are_there(void) {
    begin();
    CU_ASSERT(attempt_misses(&a, 0) && attempt_misses(&a, 2));
    CU_ASSERT_FALSE(attempt_misses(&a, 1)); /* it has no ranks */
    CU_ASSERT(report(0, 0, RANK_EXITED, 0));
    CU_ASSERT(attempt_misses(&a, 0));
    CU_ASSERT(report(0, 1, RANK_EXITED, 0));
    CU_ASSERT_FALSE(attempt_misses(&a, 0));
    CU_ASSERT_FALSE(attempt_knows_why(&a));
    attempt_kill(&a, 200);
    CU_ASSERT(attempt_knows_why(&a));
    attempt_done(&a);
    begin();
    attempt_lose(&a, 2, 5, "silence");
    CU_ASSERT(attempt_knows_why(&a));
    attempt_done(&a);
    begin();
    CU_ASSERT(attempt_fail(&a));
    CU_ASSERT(attempt_knows_why(&a));
    attempt_done(&a);
}

static void the_facts_are_what_was_gathered(void) {
    struct verdict_facts facts;
    begin();
    attempt_facts(&a, &cluster, "words", &facts);
    CU_ASSERT_EQUAL(facts.mpirun_code, -1);
    CU_ASSERT_EQUAL(facts.started, 0);
    CU_ASSERT_FALSE(attempt_rank_started(&a, 2, 4));
    CU_ASSERT(report(2, 4, RANK_EXITED, 3));
    CU_ASSERT_EQUAL(attempt_stall(&a, 2, 3, "S pipe_read", 50), ATTEMPT_STALL_FIRST);
    CU_ASSERT_STRING_EQUAL(a.stalled_states, "S pipe_read");
    CU_ASSERT_EQUAL(attempt_stall(&a, 2, 4, "R", 60), ATTEMPT_STALL_LATER);
    CU_ASSERT_STRING_EQUAL(a.stalled_states, "S pipe_read\nR");
    attempt_mpirun_ended(&a, 9);
    attempt_stop(&a, 2, 70);
    attempt_facts(&a, &cluster, "words", &facts);
    CU_ASSERT_EQUAL(facts.started, 1);
    CU_ASSERT(facts.ranks == 5 && facts.rank_host[4] == 2 && facts.rank_host[1] == 0);
    CU_ASSERT(facts.report_count == 1 && facts.reports[0].value == 3);
    CU_ASSERT(facts.stalled == 50 && facts.stalled_rank == 3 && facts.stalled_host == 2);
    CU_ASSERT(facts.stop_asked == 70 && facts.stop_host == 2);
    CU_ASSERT_EQUAL(facts.mpirun_code, 9);
    CU_ASSERT_STRING_EQUAL(facts.mpirun_words, "words");
    attempt_done(&a);
}

/* As many as they may be, of lines that have no room any more. */
static void stalled_ranks_have_a_ceiling(void) {
    char words[RANK_REPORT_EVIDENCE_SIZE];
    memset(words, 'w', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    begin();
    for (unsigned i = 0; i < ATTEMPT_STALLED_MAX; i++)
        CU_ASSERT_EQUAL(attempt_stall(&a, 0, 1, i == 0 ? "first" : words, 50 + i),
                        i == 0 ? ATTEMPT_STALL_FIRST : ATTEMPT_STALL_LATER);
    CU_ASSERT_EQUAL(attempt_stall(&a, 0, 0, "", 99), ATTEMPT_STALL_NOTHING);
    CU_ASSERT_EQUAL(a.stalled, 50);
    CU_ASSERT_EQUAL(strncmp(a.stalled_states, "first\nwww", 9), 0);
    CU_ASSERT_EQUAL(strlen(a.stalled_states), sizeof(a.stalled_states) - 1);
    attempt_forget(&a);
    CU_ASSERT(a.stalled_count == 0 && a.stalled_states[0] == '\0');
}

static void only_its_number_outlives_it(void) {
    begin();
    CU_ASSERT(attempt_fail(&a));
    CU_ASSERT_FALSE(attempt_fail(&a));
    CU_ASSERT(a.gathering);
    attempt_end_ranks(&a);
    CU_ASSERT_FALSE(a.gathering);
    CU_ASSERT(report(0, 0, RANK_EXITED, 3));
    attempt_lose(&a, 2, 5, "silence");
    attempt_forget(&a);
    CU_ASSERT_EQUAL(a.number, 3);
    CU_ASSERT(a.report_count == 0 && a.loss_count == 0 && !a.failed && a.ranks == 0);
    CU_ASSERT_FALSE(attempt_rank_started(&a, 0, 0));
    attempt_done(&a);
    CU_ASSERT_EQUAL(a.number, 3);
}

/* If a host is lost, the verdict comes before its ranks report: heartbeats have their last step. */
static void heartbeats_tell_how_far_it_was(void) {
    begin();
    CU_ASSERT_EQUAL(attempt_step(&a), 0);
    attempt_pace(&a, 2, 3, &(struct straggler_point){.at = 1, .step = 500});
    attempt_pace(&a, 0, 0, &(struct straggler_point){.at = 1, .step = 400});
    attempt_pace(&a, 0, 4, &(struct straggler_point){.at = 1, .step = 900}); /* not its own */
    CU_ASSERT_EQUAL(attempt_step(&a), 500);
    const struct rank_report r = {.host = 0, .rank = 1, .end = RANK_EXITED, .step = 501};
    CU_ASSERT(attempt_report(&a, &r));
    CU_ASSERT_EQUAL(attempt_step(&a), 501);
    attempt_done(&a);
    CU_ASSERT_EQUAL(attempt_step(&a), 0);
}

static void all_are_quiet_when_nobody_is_busy(void) {
    begin();
    for (int rank = 0; rank < 4; rank++)
        attempt_quiet(&a, rank < 2 ? 0 : 2, rank, "");
    attempt_quiet(&a, 0, 4, ""); /* not its own */
    attempt_quiet(&a, 2, 5, "");
    attempt_quiet(&a, 2, -1, "");
    CU_ASSERT_EQUAL(attempt_all_quiet(&a), -1);
    attempt_quiet(&a, 0, 1, NULL);
    attempt_quiet(&a, 2, 4, "");
    CU_ASSERT_EQUAL(attempt_all_quiet(&a), -1);
    attempt_quiet(&a, 0, 1, "");
    CU_ASSERT_EQUAL(attempt_all_quiet(&a), 0);
    /* A rank that has ended is not waited for. */
    attempt_quiet(&a, 2, 4, NULL);
    CU_ASSERT_EQUAL(attempt_all_quiet(&a), -1);
    CU_ASSERT(report(2, 4, RANK_EXITED, 0));
    CU_ASSERT_EQUAL(attempt_all_quiet(&a), 0);
    CU_ASSERT(report(0, 0, RANK_EXITED, 0));
    CU_ASSERT_EQUAL(attempt_all_quiet(&a), 1);
    for (unsigned rank = 1; rank < 4; rank++)
        CU_ASSERT(report(rank < 2 ? 0 : 2, rank, RANK_EXITED, 0));
    CU_ASSERT_EQUAL(attempt_all_quiet(&a), -1);
    attempt_done(&a);
}

static void seat_all(void) {
    for (int rank = 0; rank < 5; rank++)
        (void)attempt_rank_started(&a, rank < 2 ? 0 : 2, rank);
}

static void it_goes_on_without_as_many_ranks_as_it_may_lose(void) {
    struct verdict_facts facts;
    begin();
    seat_all();
    CU_ASSERT_FALSE(attempt_forgo(&a, 1)); /* none may be */
    attempt_may_lose(&a, 2);
    CU_ASSERT(attempt_forgo(&a, 1));
    CU_ASSERT(attempt_forgo(&a, 4));
    CU_ASSERT_FALSE(attempt_forgo(&a, 3));
    attempt_facts(&a, &cluster, NULL, &facts);
    CU_ASSERT(facts.forgone[1] && facts.forgone[4] && !facts.forgone[3]);
    CU_ASSERT_EQUAL(facts.may_lose, 2);
    attempt_forget(&a);
    begin();
    CU_ASSERT_EQUAL(a.forgone_count, 0); /* another attempt begins with all */
    attempt_done(&a);
}

static void a_loss_ends_it_before_all_have_started_and_after_another_failure(void) {
    begin();
    attempt_may_lose(&a, 4);
    CU_ASSERT_FALSE(attempt_forgo(&a, 1));
    seat_all();
    CU_ASSERT(attempt_forgo(&a, 1));
    CU_ASSERT(attempt_fail(&a));
    CU_ASSERT_FALSE(attempt_forgo(&a, 2));
    attempt_done(&a);
    begin();
    attempt_may_lose(&a, 4);
    seat_all();
    attempt_stop(&a, 0, 7);
    CU_ASSERT_FALSE(attempt_forgo(&a, 1));
    attempt_done(&a);
    begin();
    attempt_may_lose(&a, 4);
    seat_all();
    attempt_begin_end(&a);
    CU_ASSERT_FALSE(attempt_forgo(&a, 1));
    attempt_done(&a);
}

/* A later attempt may have fewer ranks than were counted on. */
static void the_last_rank_is_never_forgone(void) {
    begin();
    attempt_may_lose(&a, 9);
    seat_all();
    for (unsigned rank = 0; rank < 4; rank++)
        CU_ASSERT(attempt_forgo(&a, rank));
    CU_ASSERT_FALSE(attempt_forgo(&a, 4));
    attempt_done(&a);
}

UNIT_SUITE("master.attempt", UNIT(it_goes_on_without_as_many_ranks_as_it_may_lose),
           UNIT(a_loss_ends_it_before_all_have_started_and_after_another_failure),
           UNIT(the_last_rank_is_never_forgone), UNIT(heartbeats_tell_how_far_it_was),
           UNIT(all_are_quiet_when_nobody_is_busy), UNIT(a_rank_is_its_hosts),
           UNIT(the_last_seat_is_reported), UNIT(of_two_reports_the_failure_counts),
           UNIT(it_is_complete_without_those_who_are_lost), UNIT(shims_stay_while_a_stop_runs),
           UNIT(the_first_daemon_that_failed_is_noted),
           UNIT(one_that_was_killed_is_the_cause_of_one_that_left),
           UNIT(reports_are_missed_until_they_are_there), UNIT(the_facts_are_what_was_gathered),
           UNIT(stalled_ranks_have_a_ceiling), UNIT(only_its_number_outlives_it))
