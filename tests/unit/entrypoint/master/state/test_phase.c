#include "entrypoint/master/state/phase.h"
#include "tests/support/paper.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const bool nothing_holds[GUARD_COUNT];

static void every_pair_has_its_row(void) {
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
        for (unsigned event = 0; event < EVENT_COUNT; event++)
            for (unsigned guards = 0; guards < 1U << GUARD_COUNT; guards++) {
                bool holds[GUARD_COUNT];
                for (unsigned i = 0; i < GUARD_COUNT; i++)
                    holds[i] = (guards >> i & 1) != 0;
                const struct phase_row *row = phase_find(phase, event, holds);
                if (row == NULL)
                    printf("no row: %s, %s\n", phase_name(phase), phase_event_name(event));
                CU_ASSERT_PTR_NOT_NULL_FATAL(row);
                CU_ASSERT(row->guard == GUARD_NONE || holds[row->guard]);
                /* Code that judges or weighs raises an event with the result, and the phase stays
                 * until then. */
                CU_ASSERT(row->next != phase || row->actions[0] != DO_CONCLUDE);
                /* A row that does nothing changes nothing. */
                CU_ASSERT(row->actions[0] != DO_NOTHING || row->next == phase);
            }
}

/* In the table itself, a pair that never does anything is in the mask and has no row. */
static void what_is_ignored_has_no_row(void) {
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
        for (unsigned event = 0; event < EVENT_COUNT; event++) {
            bool acts = false;
            for (unsigned guard = 0; guard < GUARD_COUNT; guard++) {
                bool holds[GUARD_COUNT] = {false};
                holds[guard] = true;
                acts |= phase_find(phase, event, holds)->actions[0] != DO_NOTHING;
            }
            CU_ASSERT_EQUAL(phase_ignores(phase, event), !acts);
        }
}

/* Which phase follows which, and how a phase is left. */
static void phases_follow_one_another_in_one_order(void) {
    static const bool may[PHASE_COUNT][PHASE_COUNT] = {
        [PHASE_JOINING] = {[PHASE_JOINING] = true,
                           [PHASE_EXAMINING] = true,
                           [PHASE_PROBING] = true,
                           [PHASE_RUNNING] = true,
                           [PHASE_JUDGED] = true},
        [PHASE_PROBING] = {[PHASE_PROBING] = true, [PHASE_RUNNING] = true, [PHASE_JUDGED] = true},
        [PHASE_GATHERING] =
            {[PHASE_GATHERING] = true, [PHASE_RUNNING] = true, [PHASE_JUDGED] = true},
        [PHASE_EXAMINING] = {[PHASE_EXAMINING] = true, [PHASE_JUDGED] = true},
        [PHASE_RUNNING] = {[PHASE_RUNNING] = true,
                           [PHASE_CLEARING] = true,
                           [PHASE_UPLOADING] = true,
                           [PHASE_JUDGED] = true},
        [PHASE_CLEARING] = {[PHASE_CLEARING] = true,
                            [PHASE_RUNNING] = true,
                            [PHASE_UPLOADING] = true,
                            [PHASE_JUDGED] = true},
        [PHASE_UPLOADING] = {[PHASE_UPLOADING] = true, [PHASE_JUDGED] = true},
        [PHASE_JUDGED] = {[PHASE_JUDGED] = true}};
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
        for (unsigned event = 0; event < EVENT_COUNT; event++)
            for (unsigned guard = 0; guard < GUARD_COUNT; guard++) {
                bool holds[GUARD_COUNT] = {false};
                holds[guard] = true;
                const struct phase_row *row = phase_find(phase, event, holds);
                CU_ASSERT(may[phase][row->next]);
                bool concludes = false;
                for (unsigned i = 0; i < PHASE_ACTIONS_MAX; i++)
                    concludes |= row->actions[i] == DO_CONCLUDE || row->actions[i] == DO_REJOIN;
                CU_ASSERT_EQUAL(concludes, phase != PHASE_JUDGED && row->next == PHASE_JUDGED);
            }
}

static const struct phase_row *row_of(enum phase phase, enum phase_event event,
                                      enum phase_guard guard) {
    bool holds[GUARD_COUNT] = {false};
    holds[guard] = true;
    return phase_find(phase, event, holds);
}

/* The promises that hang on a row. */
static void a_stop_is_taken_as_its_phase_allows(void) {
    CU_ASSERT_EQUAL(row_of(PHASE_JOINING, EVENT_ALL_JOINED, GUARD_STOP)->actions[0], DO_JUDGE);
    CU_ASSERT_EQUAL(row_of(PHASE_JOINING, EVENT_STOP, GUARD_STOP)->actions[0], DO_NOTHING);
    CU_ASSERT_EQUAL(row_of(PHASE_RUNNING, EVENT_STOP, GUARD_STOP)->actions[0], DO_NOTHING);
    CU_ASSERT_EQUAL(row_of(PHASE_RUNNING, EVENT_STOP_AGAIN, GUARD_STOP)->actions[0], DO_END_BUDGET);
    CU_ASSERT_EQUAL(row_of(PHASE_RUNNING, EVENT_STOP, GUARD_ENDING)->actions[0], DO_NOTE_LATE_STOP);
    CU_ASSERT_EQUAL(row_of(PHASE_CLEARING, EVENT_STOP, GUARD_NONE)->next, PHASE_JUDGED);
    CU_ASSERT_EQUAL(row_of(PHASE_JUDGED, EVENT_STOP_AGAIN, GUARD_STOP)->actions[0], DO_NOTHING);
}

/* Hosts that upload have not got the verdict yet, and get it once. */
static void what_a_job_leaves_is_uploaded_before_its_verdict(void) {
    static const enum phase from[] = {PHASE_RUNNING, PHASE_CLEARING};
    for (size_t i = 0; i < 2; i++)
        for (unsigned event = 0; event < EVENT_COUNT; event++) {
            const struct phase_row *without = row_of(from[i], event, GUARD_NONE);
            const struct phase_row *with = row_of(from[i], event, GUARD_TARGETS);
            const bool others_upload = event == EVENT_QUORUM_LOST || event == EVENT_UNFIT;
            if (others_upload) { /* by now, or when their job ends */
                CU_ASSERT_EQUAL(with->next == PHASE_JUDGED, without->next == PHASE_JUDGED);
                continue;
            }
            CU_ASSERT_EQUAL(without->next == PHASE_JUDGED, with->next == PHASE_UPLOADING);
        }
    CU_ASSERT_EQUAL(row_of(PHASE_UPLOADING, EVENT_STOP, GUARD_NONE)->actions[0],
                    DO_SHORTEN_UPLOADS);
    CU_ASSERT_EQUAL(row_of(PHASE_UPLOADING, EVENT_STOP, GUARD_STOP)->actions[0], DO_NOTHING);
    CU_ASSERT_EQUAL(row_of(PHASE_UPLOADING, EVENT_STOP_AGAIN, GUARD_NONE)->actions[0],
                    DO_END_UPLOADS);
    CU_ASSERT_EQUAL(row_of(PHASE_UPLOADING, EVENT_MPIRUN_ENDED, GUARD_NONE)->actions[0],
                    DO_NOTHING);
}

/* The hosts that have joined are examined, and nothing is started. */
static void a_check_ends_without_a_launch(void) {
    CU_ASSERT_EQUAL(row_of(PHASE_JOINING, EVENT_ALL_JOINED, GUARD_CHECK)->next, PHASE_EXAMINING);
    CU_ASSERT_EQUAL(row_of(PHASE_JOINING, EVENT_READY_DEADLINE, GUARD_CHECK)->next,
                    PHASE_EXAMINING);
    CU_ASSERT_EQUAL(row_of(PHASE_EXAMINING, EVENT_EXAMINED, GUARD_CHECK)->actions[0],
                    DO_PRINT_CHECK);
    CU_ASSERT_EQUAL(row_of(PHASE_EXAMINING, EVENT_STOP, GUARD_CHECK)->actions[1], DO_JUDGE);
    for (unsigned event = 0; event < EVENT_COUNT; event++)
        for (unsigned i = 0; i < PHASE_ACTIONS_MAX; i++)
            CU_ASSERT_NOT_EQUAL(row_of(PHASE_EXAMINING, event, GUARD_CHECK)->actions[i], DO_LAUNCH);
}

static void who_is_lost_is_not_lost_again(void) {
    CU_ASSERT_EQUAL(row_of(PHASE_RUNNING, EVENT_HOST_GONE, GUARD_NONE)->actions[0], DO_MARK_LOST);
    CU_ASSERT_EQUAL(row_of(PHASE_RUNNING, EVENT_HOST_GONE, GUARD_LOST)->actions[0], DO_NOTHING);
    CU_ASSERT_EQUAL(row_of(PHASE_CLEARING, EVENT_HOST_GONE, GUARD_NONE)->actions[0], DO_MARK_LOST);
    CU_ASSERT_EQUAL(row_of(PHASE_CLEARING, EVENT_HOST_GONE, GUARD_LOST)->actions[0], DO_NOTHING);
    CU_ASSERT_EQUAL(row_of(PHASE_CLEARING, EVENT_CLEANUP_FAILED, GUARD_NONE)->actions[0],
                    DO_MARK_LOST);
    CU_ASSERT_EQUAL(row_of(PHASE_CLEARING, EVENT_CLEANUP_FAILED, GUARD_LOST)->actions[0],
                    DO_NOTHING);
}

/* If a stop was requested and the attempt is ending, the guard of the ending attempt counts. */
static void the_first_guard_that_holds_counts(void) {
    bool both[GUARD_COUNT] = {[GUARD_STOP] = true, [GUARD_ENDING] = true};
    CU_ASSERT_EQUAL(phase_find(PHASE_RUNNING, EVENT_STOP_AGAIN, both)->guard, GUARD_ENDING);
    bool fault[GUARD_COUNT] = {[GUARD_STOP] = true, [GUARD_FAULT] = true, [GUARD_CHECK] = true};
    CU_ASSERT_EQUAL(phase_find(PHASE_JOINING, EVENT_ALL_JOINED, fault)->guard, GUARD_STOP);
    fault[GUARD_STOP] = false;
    CU_ASSERT_EQUAL(phase_find(PHASE_JOINING, EVENT_ALL_JOINED, fault)->guard, GUARD_FAULT);
    CU_ASSERT_EQUAL(phase_find(PHASE_JOINING, EVENT_ALL_JOINED, nothing_holds)->next,
                    PHASE_RUNNING);
}

static bool does(const struct phase_row *row, enum phase_action action) {
    for (unsigned i = 0; i < PHASE_ACTIONS_MAX; i++)
        if (row->actions[i] == action)
            return true;
    return false;
}

/* If the first host may be lost. */
static void no_rank_starts_before_all_have_taken_the_roll(void) {
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
        for (unsigned event = 0; event < EVENT_COUNT; event++) {
            const struct phase_row *row = row_of(phase, event, GUARD_FAILOVER);
            CU_ASSERT(!does(row, DO_LAUNCH) || does(row, DO_COMMIT_VIEW));
        }
    CU_ASSERT_EQUAL(row_of(PHASE_CLEARING, EVENT_CLEANUP_DONE, GUARD_FAILOVER)->actions[0],
                    DO_NEXT_ATTEMPT);
    CU_ASSERT_EQUAL(row_of(PHASE_RUNNING, EVENT_VIEW_ACCEPTED, GUARD_FAILOVER)->actions[0],
                    DO_COMMIT_VIEW);
    CU_ASSERT_EQUAL(row_of(PHASE_JOINING, EVENT_ALL_JOINED, GUARD_FAILOVER)->next, PHASE_PROBING);
}

/* ENDED alone follows a row that has done so. */
static void words_leave_the_checkpoints_however_their_proof_ends(void) {
    for (unsigned event = 0; event < EVENT_COUNT; event++)
        for (unsigned guard = 0; guard < GUARD_COUNT; guard++) {
            const struct phase_row *row = row_of(PHASE_PROBING, event, guard);
            bool ends = row->next != PHASE_PROBING || does(row, DO_JUDGE);
            CU_ASSERT_EQUAL(does(row, DO_END_PROBE), ends && event != EVENT_ENDED);
        }
}

/* From wherever it acts; and it uploads nothing, in no phase that follows. */
static void who_is_out_ends(void) {
    static const enum phase acts[] = {PHASE_GATHERING, PHASE_RUNNING, PHASE_CLEARING,
                                      PHASE_UPLOADING};
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        for (unsigned guard = 0; guard < GUARD_COUNT; guard++) {
            const struct phase_row *row = row_of(acts[i], EVENT_QUORUM_LOST, guard);
            CU_ASSERT_EQUAL(row->next, PHASE_JUDGED);
            bool back = guard == GUARD_MAY_REJOIN && acts[i] != PHASE_UPLOADING;
            CU_ASSERT_EQUAL(does(row, DO_REJOIN), back);
            CU_ASSERT_EQUAL(does(row, DO_SET_VERDICT_QUORUM_LOST), !back);
            CU_ASSERT_FALSE(does(row, DO_UPLOAD));
        }
    CU_ASSERT_EQUAL(row_of(PHASE_JUDGED, EVENT_QUORUM_LOST, GUARD_NONE)->actions[0], DO_NOTHING);
}

/* Between two attempts alone, before any host knows of the next one. */
static void a_running_attempt_takes_nobody_in(void) {
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
        for (unsigned event = 0; event < EVENT_COUNT; event++)
            for (unsigned guard = 0; guard < GUARD_COUNT; guard++) {
                const struct phase_row *row = row_of(phase, event, guard);
                bool between = event == EVENT_TRY_AGAIN && phase == PHASE_RUNNING;
                between |= event == EVENT_QUORUM_REACHED && phase == PHASE_GATHERING;
                between |= event == EVENT_HOST_REJOINED && phase == PHASE_CLEARING;
                CU_ASSERT_EQUAL(does(row, DO_READMIT), between);
            }
    /* While hosts gather it may be the one that was missing. */
    CU_ASSERT(does(row_of(PHASE_GATHERING, EVENT_HOST_REJOINED, GUARD_NONE), DO_CHECK_QUORUM));
    const struct phase_row *gathered = row_of(PHASE_GATHERING, EVENT_QUORUM_REACHED, GUARD_NONE);
    CU_ASSERT_EQUAL(gathered->actions[2], DO_READMIT);
    CU_ASSERT_EQUAL(gathered->actions[3], DO_NEXT_ATTEMPT);
}

/* It may fetch yet what a later life does not: then the others alone go there. */
static void who_comes_to_a_host_that_gives_way_is_sent_on(void) {
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
        for (unsigned event = 0; event < EVENT_COUNT; event++)
            for (unsigned guard = 0; guard < GUARD_COUNT; guard++) {
                const struct phase_row *row = row_of(phase, event, guard);
                bool fetches = phase == PHASE_JOINING && event == EVENT_LED_ELSEWHERE &&
                               guard == GUARD_FETCHES;
                CU_ASSERT_EQUAL(does(row, DO_REDIRECT), does(row, DO_REJOIN) || fetches);
                CU_ASSERT_EQUAL(does(row, DO_DISCONNECT_ALL),
                                does(row, DO_REJOIN) ||
                                    ((event == EVENT_DUPLICATE_NAME || event == EVENT_UNFIT) &&
                                     does(row, DO_SET_VERDICT)));
            }
    CU_ASSERT_EQUAL(row_of(PHASE_JOINING, EVENT_DUPLICATE_NAME, GUARD_NONE)->actions[0],
                    DO_DISCONNECT_ALL);
    CU_ASSERT_EQUAL(row_of(PHASE_EXAMINING, EVENT_DUPLICATE_NAME, GUARD_NONE)->actions[0],
                    DO_DISCONNECT_ALL);
}

/* It has begun nothing, and those that it gathers have to hear of a stop. */
static void a_master_of_a_new_job_alone_gives_way(void) {
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++) {
        const struct phase_row *row = row_of(phase, EVENT_LED_ELSEWHERE, GUARD_MAY_REJOIN);
        CU_ASSERT_EQUAL(does(row, DO_REJOIN), phase == PHASE_JOINING);
    }
    CU_ASSERT_EQUAL(row_of(PHASE_JOINING, EVENT_LED_ELSEWHERE, GUARD_NONE)->next, PHASE_JUDGED);
    CU_ASSERT_EQUAL(row_of(PHASE_JOINING, EVENT_LED_ELSEWHERE, GUARD_STOP)->actions[0], DO_NOTHING);
}

static void the_picture_in_the_papers_is_this_table(void) {
    assert_paper_has("docs/internals/master-states.md", "phases", phase_print);
    assert_paper_has("docs/internals/master-states.md", "the phases' picture", phase_draw);
}

UNIT_SUITE("master.phase", UNIT(every_pair_has_its_row), UNIT(what_is_ignored_has_no_row),
           UNIT(phases_follow_one_another_in_one_order), UNIT(a_stop_is_taken_as_its_phase_allows),
           UNIT(what_a_job_leaves_is_uploaded_before_its_verdict),
           UNIT(a_check_ends_without_a_launch), UNIT(who_is_lost_is_not_lost_again),
           UNIT(the_first_guard_that_holds_counts),
           UNIT(words_leave_the_checkpoints_however_their_proof_ends),
           UNIT(no_rank_starts_before_all_have_taken_the_roll), UNIT(who_is_out_ends),
           UNIT(a_running_attempt_takes_nobody_in), UNIT(a_master_of_a_new_job_alone_gives_way),
           UNIT(who_comes_to_a_host_that_gives_way_is_sent_on),
           UNIT(the_picture_in_the_papers_is_this_table))
