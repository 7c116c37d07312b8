#include "entrypoint/master/state/phase.h"

#include "common/cleanup.h"
#include "common/text/markdown.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Short, so that a row is a line. */
#define JOINING PHASE_JOINING
#define EXAMINING PHASE_EXAMINING
#define PROBING PHASE_PROBING
#define GATHERING PHASE_GATHERING
#define RUNNING PHASE_RUNNING
#define CLEARING PHASE_CLEARING
#define UPLOADING PHASE_UPLOADING
#define JUDGED PHASE_JUDGED

/* Rows of the table. A pair of phase and event without a row is in `ignored`; a test walks all
 * pairs, so that none is forgotten. Of the rows of a pair the unconditional one is the last.
 *
 * Reasons for some of them:
 *   - A stop while hosts join still waits for them, if briefly: they have to learn of it.
 *   - A check continues without the hosts that did not join: each of them has a row of its own.
 *   - A stop after the first failure cannot change the verdict, but no attempt follows it.
 *   - Once an attempt is ending, a second stop has nothing to shorten: the end has a deadline.
 *   - At the end of the budget shims are released with the SIGKILL: mpirun would wait for them.
 *   - A host that is lost during the cleanup after an attempt ends the job only if the rules of
 *     restarts say so. A host that is alive but not ready counts as lost and is disconnected.
 *     With failover that goes for this host, too: it leaves, and the others lose their master.
 *   - A spare runs nothing, so its loss changes nothing but who may take a lost host's place.
 *   - While hosts upload, nothing else is awaited. A stop shortens the time for it; a second one,
 * or one after a stop that ended the job, leaves no time.
 *   - However the probe of the checkpoint directory ends, its files are removed.
 *   - With failover no rank starts before all hosts have accepted the attempt's view, by which the
 *     others continue when this host is lost. A host without a quorum says so and uploads nothing.
 *   - A host that comes back waits: it takes part from the next attempt on, and is one of its hosts
 *     as soon as the current one has been judged.
 *   - A first host that is started anew yields to the leader of the job. An exception is a stop,
 *     which the hosts that it gathers have to learn of. It yields only after it has downloaded what
 *     a later role needs.
 *   - Of two hosts with the name of the first, the one that leaves has admitted none and has none
 *     to inform.
 *   - Once judged nothing changes the verdict, but the master stays until the last link is gone. */
static const struct phase_row rows[] = {
    /* Hosts connect and download. A stop, a fault or a deadline ends it without ranks; nothing is
     * uploaded then, as nothing has been made. */
    {JOINING, EVENT_ALL_JOINED, GUARD_STOP, {DO_JUDGE}, JOINING},
    {JOINING, EVENT_ALL_JOINED, GUARD_FAULT, {DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {JOINING, EVENT_ALL_JOINED, GUARD_CHECK, {DO_CHOOSE_INTERFACE, DO_EXAMINE}, EXAMINING},
    {JOINING, EVENT_ALL_JOINED, GUARD_FAILOVER, {DO_CHOOSE_INTERFACE, DO_PROBE}, PROBING},
    {JOINING, EVENT_ALL_JOINED, GUARD_NONE, {DO_CHOOSE_INTERFACE, DO_LAUNCH}, RUNNING},
    {JOINING,
     EVENT_DUPLICATE_NAME,
     GUARD_NONE,
     {DO_DISCONNECT_ALL, DO_SET_VERDICT, DO_CONCLUDE},
     JUDGED},
    {JOINING, EVENT_READY_DEADLINE, GUARD_STOP, {DO_JUDGE}, JOINING},
    {JOINING, EVENT_READY_DEADLINE, GUARD_CHECK, {DO_CHOOSE_INTERFACE, DO_EXAMINE}, EXAMINING},
    {JOINING, EVENT_READY_DEADLINE, GUARD_NONE, {DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {JOINING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {JOINING, EVENT_HOST_GONE, GUARD_NONE, {DO_UNJOIN}, JOINING},
    {JOINING, EVENT_STOP, GUARD_STOP, {DO_NOTHING}, JOINING},
    {JOINING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_SHORTEN_JOIN}, JOINING},
    {JOINING, EVENT_STOP_AGAIN, GUARD_STOP, {DO_JUDGE}, JOINING},
    {JOINING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_SHORTEN_JOIN}, JOINING},
    /* As long as this host downloads, only the hosts that have come here are sent to the leader. */
    {JOINING, EVENT_LED_ELSEWHERE, GUARD_STOP, {DO_NOTHING}, JOINING},
    {JOINING, EVENT_LED_ELSEWHERE, GUARD_FETCHES, {DO_REDIRECT}, JOINING},
    {JOINING, EVENT_LED_ELSEWHERE, GUARD_NONE, {DO_REDIRECT, DO_DISCONNECT_ALL, DO_REJOIN}, JUDGED},
    {JOINING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    /* A check has no attempt: it prints its rows when all findings are here, and every way out
     * leads to JUDGED. A host that goes is no longer waited for. */
    {EXAMINING,
     EVENT_DUPLICATE_NAME,
     GUARD_NONE,
     {DO_DISCONNECT_ALL, DO_SET_VERDICT, DO_CONCLUDE},
     JUDGED},
    {EXAMINING, EVENT_EXAMINED, GUARD_NONE, {DO_PRINT_CHECK}, EXAMINING},
    {EXAMINING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {EXAMINING, EVENT_HOST_GONE, GUARD_NONE, {DO_UNJOIN, DO_SKIP_HOST}, EXAMINING},
    {EXAMINING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_JUDGE}, EXAMINING},
    {EXAMINING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_JUDGE}, EXAMINING},
    {EXAMINING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    /* All hosts have joined, and none runs a rank. A loss here ends
     * the job: no attempt has begun, and the rules of restarts need one (restart.c). */
    {PROBING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_END_PROBE, DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {PROBING, EVENT_HOST_GONE, GUARD_LOST, {DO_NOTHING}, PROBING},
    {PROBING, EVENT_HOST_GONE, GUARD_NONE, {DO_MARK_LOST, DO_END_PROBE, DO_JUDGE}, PROBING},
    {PROBING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_END_PROBE, DO_JUDGE}, PROBING},
    {PROBING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_END_PROBE, DO_JUDGE}, PROBING},
    {PROBING, EVENT_DIR_SHARED, GUARD_NONE, {DO_END_PROBE, DO_COMMIT_VIEW, DO_LAUNCH}, RUNNING},
    {PROBING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    /* Entered by takeover.c, and by no row. Hosts of the lost master come, or come back; the next
     * attempt follows as soon as a quorum is here and the old one cannot run any more. */
    {GATHERING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {GATHERING, EVENT_HOST_GONE, GUARD_NONE, {DO_UNJOIN}, GATHERING},
    {GATHERING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_JUDGE}, GATHERING},
    {GATHERING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_JUDGE}, GATHERING},
    {GATHERING, EVENT_PEER_ARRIVED, GUARD_NONE, {DO_ADMIT}, GATHERING},
    {GATHERING,
     EVENT_QUORUM_REACHED,
     GUARD_NONE,
     {DO_CHOOSE_INTERFACE, DO_TAKE_OVER, DO_READMIT, DO_NEXT_ATTEMPT},
     RUNNING},
    {GATHERING, EVENT_HOST_REJOINED, GUARD_NONE, {DO_CHECK_QUORUM}, GATHERING},
    {GATHERING,
     EVENT_QUORUM_LOST,
     GUARD_MAY_REJOIN,
     {DO_REDIRECT, DO_DISCONNECT_ALL, DO_REJOIN},
     JUDGED},
    {GATHERING, EVENT_QUORUM_LOST, GUARD_NONE, {DO_SET_VERDICT_QUORUM_LOST, DO_CONCLUDE}, JUDGED},
    {GATHERING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    /* With failover this phase begins before the ranks do: VIEW_ACCEPTED launches them. Several
     * events may lead to a judgement, and DO_JUDGE raises TRY_AGAIN or ENDED, unless success has to
     * wait for answers. Here every
     * end of the job but a lost quorum goes through the uploads, if it has any. */
    {RUNNING, EVENT_LAUNCH_FAILED, GUARD_TARGETS, {DO_SET_VERDICT, DO_UPLOAD}, UPLOADING},
    {RUNNING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {RUNNING, EVENT_HOST_GONE, GUARD_LOST, {DO_NOTHING}, RUNNING},
    {RUNNING, EVENT_HOST_GONE, GUARD_SPARE, {DO_DROP_SPARE}, RUNNING},
    {RUNNING, EVENT_HOST_GONE, GUARD_NONE, {DO_MARK_LOST, DO_LEAVE_AGENT, DO_AWAIT_LOST}, RUNNING},
    {RUNNING, EVENT_ALL_STARTED, GUARD_STOP, {DO_SEND_STOP}, RUNNING},
    {RUNNING, EVENT_ALL_STARTED, GUARD_NONE, {DO_NOTHING}, RUNNING},
    {RUNNING, EVENT_FAILURE, GUARD_NONE, {DO_COLLECT}, RUNNING},
    {RUNNING, EVENT_MPIRUN_ENDED, GUARD_NONE, {DO_AWAIT_LAST}, RUNNING},
    {RUNNING, EVENT_ALL_HEARD, GUARD_NONE, {DO_JUDGE}, RUNNING},
    {RUNNING, EVENT_COLLECT_DEADLINE, GUARD_NONE, {DO_JUDGE}, RUNNING},
    {RUNNING, EVENT_ALL_ANSWERED, GUARD_NONE, {DO_JUDGE}, RUNNING},
    /* Signals repeat, so that only a request marked as a second one shortens anything. */
    {RUNNING, EVENT_STOP, GUARD_ENDING, {DO_NOTE_LATE_STOP}, RUNNING},
    {RUNNING, EVENT_STOP, GUARD_STOP, {DO_NOTHING}, RUNNING},
    {RUNNING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_BEGIN_STOP}, RUNNING},
    {RUNNING, EVENT_STOP_AGAIN, GUARD_ENDING, {DO_NOTE_LATE_STOP}, RUNNING},
    {RUNNING, EVENT_STOP_AGAIN, GUARD_STOP, {DO_END_BUDGET}, RUNNING},
    {RUNNING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_BEGIN_STOP}, RUNNING},
    {RUNNING,
     EVENT_HOLD_SPENT,
     GUARD_NONE,
     {DO_TERM_MPIRUN, DO_KILL, DO_RELEASE, DO_AWAIT_KILLED},
     RUNNING},
    {RUNNING, EVENT_BUDGET_SPENT, GUARD_NONE, {DO_KILL, DO_RELEASE, DO_AWAIT_KILLED}, RUNNING},
    {RUNNING, EVENT_VIEW_ACCEPTED, GUARD_NONE, {DO_COMMIT_VIEW, DO_LAUNCH}, RUNNING},
    {RUNNING,
     EVENT_QUORUM_LOST,
     GUARD_MAY_REJOIN,
     {DO_REDIRECT, DO_DISCONNECT_ALL, DO_REJOIN},
     JUDGED},
    {RUNNING, EVENT_QUORUM_LOST, GUARD_NONE, {DO_SET_VERDICT_QUORUM_LOST, DO_CONCLUDE}, JUDGED},
    {RUNNING, EVENT_TRY_AGAIN, GUARD_NONE, {DO_RESET_ATTEMPT, DO_READMIT, DO_CLEAR}, CLEARING},
    {RUNNING, EVENT_ENDED, GUARD_TARGETS, {DO_UPLOAD}, UPLOADING},
    {RUNNING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    /* The attempt's record has been reset, with the next number. A stop ends the job at once,
     * since no rank runs that could need time for it. */
    {CLEARING, EVENT_LAUNCH_FAILED, GUARD_TARGETS, {DO_SET_VERDICT, DO_UPLOAD}, UPLOADING},
    {CLEARING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {CLEARING, EVENT_HOST_GONE, GUARD_LOST, {DO_NOTHING}, CLEARING},
    {CLEARING, EVENT_HOST_GONE, GUARD_SPARE, {DO_DROP_SPARE, DO_DECIDE_ON_LOSS}, CLEARING},
    {CLEARING, EVENT_HOST_GONE, GUARD_NONE, {DO_MARK_LOST, DO_DECIDE_ON_LOSS}, CLEARING},
    {CLEARING,
     EVENT_STOP,
     GUARD_TARGETS,
     {DO_NOTE_STOP, DO_SET_VERDICT_STOPPED, DO_UPLOAD},
     UPLOADING},
    {CLEARING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_SET_VERDICT_STOPPED, DO_CONCLUDE}, JUDGED},
    {CLEARING,
     EVENT_STOP_AGAIN,
     GUARD_TARGETS,
     {DO_NOTE_STOP, DO_SET_VERDICT_STOPPED, DO_UPLOAD},
     UPLOADING},
    {CLEARING,
     EVENT_STOP_AGAIN,
     GUARD_NONE,
     {DO_NOTE_STOP, DO_SET_VERDICT_STOPPED, DO_CONCLUDE},
     JUDGED},
    {CLEARING, EVENT_CLEANUP_FAILED, GUARD_LOST, {DO_NOTHING}, CLEARING},
    {CLEARING,
     EVENT_CLEANUP_FAILED,
     GUARD_NONE,
     {DO_MARK_LOST, DO_DECIDE_ON_LOSS, DO_DISCONNECT},
     CLEARING},
    {CLEARING, EVENT_UNFIT, GUARD_NONE, {DO_DISCONNECT_ALL, DO_SET_VERDICT, DO_CONCLUDE}, JUDGED},
    {CLEARING, EVENT_CLEANUP_DONE, GUARD_FAILOVER, {DO_NEXT_ATTEMPT}, RUNNING},
    {CLEARING, EVENT_CLEANUP_DONE, GUARD_NONE, {DO_NEXT_ATTEMPT, DO_LAUNCH}, RUNNING},
    {CLEARING, EVENT_HOST_REJOINED, GUARD_NONE, {DO_READMIT}, CLEARING},
    {CLEARING,
     EVENT_QUORUM_LOST,
     GUARD_MAY_REJOIN,
     {DO_REDIRECT, DO_DISCONNECT_ALL, DO_REJOIN},
     JUDGED},
    {CLEARING, EVENT_QUORUM_LOST, GUARD_NONE, {DO_SET_VERDICT_QUORUM_LOST, DO_CONCLUDE}, JUDGED},
    {CLEARING, EVENT_ENDED, GUARD_TARGETS, {DO_UPLOAD}, UPLOADING},
    {CLEARING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    /* Success still waits until all hosts have answered a recent heartbeat: uploads.c asks for
     * that, and ALL_ANSWERED tells it. */
    {UPLOADING, EVENT_HOST_GONE, GUARD_LOST, {DO_NOTHING}, UPLOADING},
    {UPLOADING, EVENT_HOST_GONE, GUARD_SPARE, {DO_DROP_SPARE, DO_SKIP_UPLOAD}, UPLOADING},
    {UPLOADING, EVENT_HOST_GONE, GUARD_NONE, {DO_MARK_LOST, DO_SKIP_UPLOAD}, UPLOADING},
    {UPLOADING, EVENT_ALL_ANSWERED, GUARD_NONE, {DO_APPLY_UPLOADS, DO_CONCLUDE}, JUDGED},
    {UPLOADING, EVENT_STOP, GUARD_STOP, {DO_NOTHING}, UPLOADING},
    {UPLOADING, EVENT_STOP, GUARD_NONE, {DO_SHORTEN_UPLOADS}, UPLOADING},
    {UPLOADING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_END_UPLOADS}, UPLOADING},
    {UPLOADING, EVENT_QUORUM_LOST, GUARD_NONE, {DO_SET_VERDICT_QUORUM_LOST, DO_CONCLUDE}, JUDGED},
    {UPLOADING, EVENT_UPLOADED, GUARD_NONE, {DO_APPLY_UPLOADS, DO_CONCLUDE}, JUDGED},
    {UPLOADING, EVENT_UPLOAD_DEADLINE, GUARD_NONE, {DO_APPLY_UPLOADS, DO_CONCLUDE}, JUDGED},

    /* The only event left: a closed link may be the last one that this host stays for. */
    {JUDGED, EVENT_HOST_GONE, GUARD_NONE, {DO_MAY_LEAVE}, JUDGED},
};
/* Rows of one phase stand together: phase_print() begins a section with each change of phase. */
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
_Static_assert(EVENT_COUNT <= 64, "a mask has a bit for each event");

/* Events without any effect, by phase. In PHASE_JOINING and the others a set bit means that
 * phase_find() has no row for the event. */
#define ON(event) (UINT64_C(1) << EVENT_##event)
/* An event here is one that a part may still raise when the phase has moved on, or that cannot
 * occur in the phase at all. The list is written out, so that a new event has to be thought about
 * once for each phase. */
static const uint64_t ignored[PHASE_COUNT] = {
    [JOINING] = ON(EXAMINED) | ON(ALL_STARTED) | ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) |
                ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) |
                ON(CLEANUP_FAILED) | ON(UNFIT) | ON(CLEANUP_DONE) | ON(DIR_SHARED) |
                ON(PEER_ARRIVED) | ON(QUORUM_REACHED) | ON(VIEW_ACCEPTED) | ON(HOST_REJOINED) |
                ON(QUORUM_LOST) | ON(TRY_AGAIN) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [EXAMINING] = ON(ALL_JOINED) | ON(READY_DEADLINE) | ON(ALL_STARTED) | ON(FAILURE) |
                  ON(MPIRUN_ENDED) | ON(ALL_HEARD) | ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) |
                  ON(HOLD_SPENT) | ON(BUDGET_SPENT) | ON(CLEANUP_FAILED) | ON(UNFIT) |
                  ON(CLEANUP_DONE) | ON(DIR_SHARED) | ON(PEER_ARRIVED) | ON(QUORUM_REACHED) |
                  ON(VIEW_ACCEPTED) | ON(HOST_REJOINED) | ON(LED_ELSEWHERE) | ON(QUORUM_LOST) |
                  ON(TRY_AGAIN) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [PROBING] = ON(ALL_JOINED) | ON(DUPLICATE_NAME) | ON(READY_DEADLINE) | ON(EXAMINED) |
                ON(ALL_STARTED) | ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) |
                ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) |
                ON(CLEANUP_FAILED) | ON(UNFIT) | ON(CLEANUP_DONE) | ON(PEER_ARRIVED) |
                ON(QUORUM_REACHED) | ON(VIEW_ACCEPTED) | ON(HOST_REJOINED) | ON(LED_ELSEWHERE) |
                ON(QUORUM_LOST) | ON(TRY_AGAIN) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [GATHERING] = ON(ALL_JOINED) | ON(DUPLICATE_NAME) | ON(READY_DEADLINE) | ON(EXAMINED) |
                  ON(ALL_STARTED) | ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) |
                  ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) |
                  ON(CLEANUP_FAILED) | ON(UNFIT) | ON(CLEANUP_DONE) | ON(DIR_SHARED) |
                  ON(VIEW_ACCEPTED) | ON(LED_ELSEWHERE) | ON(TRY_AGAIN) | ON(UPLOADED) |
                  ON(UPLOAD_DEADLINE),
    [RUNNING] = ON(ALL_JOINED) | ON(DUPLICATE_NAME) | ON(READY_DEADLINE) | ON(EXAMINED) |
                ON(CLEANUP_FAILED) | ON(UNFIT) | ON(CLEANUP_DONE) | ON(DIR_SHARED) |
                ON(PEER_ARRIVED) | ON(QUORUM_REACHED) | ON(HOST_REJOINED) | ON(LED_ELSEWHERE) |
                ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [CLEARING] = ON(ALL_JOINED) | ON(DUPLICATE_NAME) | ON(READY_DEADLINE) | ON(EXAMINED) |
                 ON(ALL_STARTED) | ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) |
                 ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) |
                 ON(DIR_SHARED) | ON(PEER_ARRIVED) | ON(QUORUM_REACHED) | ON(VIEW_ACCEPTED) |
                 ON(LED_ELSEWHERE) | ON(TRY_AGAIN) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [UPLOADING] = ON(ALL_JOINED) | ON(DUPLICATE_NAME) | ON(READY_DEADLINE) | ON(EXAMINED) |
                  ON(LAUNCH_FAILED) | ON(ALL_STARTED) | ON(FAILURE) | ON(MPIRUN_ENDED) |
                  ON(ALL_HEARD) | ON(COLLECT_DEADLINE) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) |
                  ON(CLEANUP_FAILED) | ON(UNFIT) | ON(CLEANUP_DONE) | ON(DIR_SHARED) |
                  ON(PEER_ARRIVED) | ON(QUORUM_REACHED) | ON(VIEW_ACCEPTED) | ON(HOST_REJOINED) |
                  ON(LED_ELSEWHERE) | ON(TRY_AGAIN) | ON(ENDED),
    [JUDGED] = ON(ALL_JOINED) | ON(DUPLICATE_NAME) | ON(READY_DEADLINE) | ON(EXAMINED) |
               ON(LAUNCH_FAILED) | ON(ALL_STARTED) | ON(FAILURE) | ON(MPIRUN_ENDED) |
               ON(ALL_HEARD) | ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) | ON(STOP) | ON(STOP_AGAIN) |
               ON(HOLD_SPENT) | ON(BUDGET_SPENT) | ON(CLEANUP_FAILED) | ON(UNFIT) |
               ON(CLEANUP_DONE) | ON(DIR_SHARED) | ON(PEER_ARRIVED) | ON(QUORUM_REACHED) |
               ON(VIEW_ACCEPTED) | ON(HOST_REJOINED) | ON(LED_ELSEWHERE) | ON(QUORUM_LOST) |
               ON(TRY_AGAIN) | ON(ENDED) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
};

/* Rows that phase_find() returns for ignored events. No actions, and no change of phase. */
static const struct phase_row unchanged[PHASE_COUNT] = {
    [JOINING] = {.phase = JOINING, .next = JOINING},
    [EXAMINING] = {.phase = EXAMINING, .next = EXAMINING},
    [PROBING] = {.phase = PROBING, .next = PROBING},
    [GATHERING] = {.phase = GATHERING, .next = GATHERING},
    [RUNNING] = {.phase = RUNNING, .next = RUNNING},
    [CLEARING] = {.phase = CLEARING, .next = CLEARING},
    [UPLOADING] = {.phase = UPLOADING, .next = UPLOADING},
    [JUDGED] = {.phase = JUDGED, .next = JUDGED},
};

/* For the log, and as headings of the page. Mermaid takes them as identifiers, so they are single
 * words. */
static const char *const phases[PHASE_COUNT] = {"joining", "examining", "probing",   "gathering",
                                                "running", "clearing",  "uploading", "judged"};

/* Clauses that the page continues with a comma or a colon. */
static const char *const events[EVENT_COUNT] = {
    [EVENT_ALL_JOINED] = "all hosts have joined",
    [EVENT_DUPLICATE_NAME] = "another host has the same name",
    [EVENT_READY_DEADLINE] = "the time to join is over",
    [EVENT_EXAMINED] = "all hosts have sent their findings",
    [EVENT_LAUNCH_FAILED] = "the launch failed on this host",
    [EVENT_HOST_GONE] = "a host is gone",
    [EVENT_ALL_STARTED] = "all ranks have started",
    [EVENT_FAILURE] = "a rank or a daemon failed",
    [EVENT_MPIRUN_ENDED] = "mpirun ended",
    [EVENT_ALL_HEARD] = "no further reports are expected",
    [EVENT_COLLECT_DEADLINE] = "the time for reports is over",
    [EVENT_ALL_ANSWERED] = "all hosts have answered",
    [EVENT_STOP] = "a stop",
    [EVENT_STOP_AGAIN] = "a second stop",
    [EVENT_HOLD_SPENT] = "the time to start is over",
    [EVENT_BUDGET_SPENT] = "the time to stop is over",
    [EVENT_CLEANUP_FAILED] = "a host did not get ready",
    [EVENT_UNFIT] = "this host did not get ready, another may lead",
    [EVENT_CLEANUP_DONE] = "all hosts are ready",
    [EVENT_DIR_SHARED] = "all hosts share the directory",
    [EVENT_PEER_ARRIVED] = "one more host has connected",
    [EVENT_QUORUM_REACHED] = "a quorum is here",
    [EVENT_VIEW_ACCEPTED] = "all hosts have accepted the view",
    [EVENT_HOST_REJOINED] = "a host has come back",
    [EVENT_LED_ELSEWHERE] = "another host leads the job",
    [EVENT_QUORUM_LOST] = "the quorum is lost",
    [EVENT_TRY_AGAIN] = "another attempt follows",
    [EVENT_ENDED] = "the job has ended",
    [EVENT_UPLOADED] = "all hosts have uploaded",
    [EVENT_UPLOAD_DEADLINE] = "the time to upload is over",
};

/* These follow the event after a comma; "it" is the host of the event. */
static const char *const guards[GUARD_COUNT] = {
    [GUARD_NONE] = "",
    [GUARD_STOP] = "a stop was requested",
    [GUARD_ENDING] = "the attempt is ending",
    [GUARD_FAULT] = "a host has a fault",
    [GUARD_CHECK] = "a check",
    [GUARD_TARGETS] = "the job uploads",
    [GUARD_LOST] = "it was lost before",
    [GUARD_SPARE] = "it runs no ranks",
    [GUARD_FETCHES] = "this host still downloads",
    [GUARD_FAILOVER] = "failover is on",
    [GUARD_MAY_REJOIN] = "this host may rejoin",
};

/* Times in these texts repeat constants of other files, which they have to follow: reports.c for
 * the end of an attempt, join.c for a stop. */
static const char *const actions[DO_COUNT] = {
    [DO_NOTHING] = "nothing",
    [DO_CHOOSE_INTERFACE] = "choose the interface",
    [DO_EXAMINE] = "order all hosts to examine themselves",
    [DO_SKIP_HOST] = "wait for the other hosts",
    [DO_PRINT_CHECK] = "print the findings",
    [DO_LAUNCH] = "start the ranks",
    [DO_UNJOIN] = "it has to join again",
    [DO_MARK_LOST] = "mark it lost",
    [DO_DROP_SPARE] = "mark it lost, go on",
    [DO_LEAVE_AGENT] = "end its agent",
    [DO_AWAIT_LOST] = "judge in 0.5 s, or once all reports are here",
    [DO_AWAIT_LAST] = "judge in 1 s, or once silent hosts have answered or are lost",
    [DO_COLLECT] = "collect reports for 0.3 s, then end all ranks",
    [DO_AWAIT_KILLED] = "judge in 1 s",
    [DO_RELEASE] = "release the shims",
    [DO_JUDGE] = "judge",
    [DO_NOTE_STOP] = "note the stop",
    [DO_SHORTEN_JOIN] = "leave 5 s to join",
    [DO_BEGIN_STOP] = "send the stop, or hold it until all ranks have started",
    [DO_NOTE_LATE_STOP] = "no further attempt",
    [DO_SEND_STOP] = "send the stop",
    [DO_END_BUDGET] = "end its time",
    [DO_TERM_MPIRUN] = "send SIGTERM to mpirun",
    [DO_KILL] = "send SIGKILL to the ranks",
    [DO_RESET_ATTEMPT] = "reset the attempt",
    [DO_CLEAR] = "order all hosts to clean up",
    [DO_DECIDE_ON_LOSS] = "continue or end the job",
    [DO_DISCONNECT] = "close its link",
    [DO_NEXT_ATTEMPT] = "announce the next attempt and the lost hosts",
    [DO_PROBE] = "order all hosts to probe the checkpoint directory",
    [DO_END_PROBE] = "remove the probe files",
    [DO_TAKE_OVER] = "mark absent hosts lost",
    [DO_ADMIT] = "learn its views, check the quorum",
    [DO_CHECK_QUORUM] = "check the quorum",
    [DO_READMIT] = "readmit hosts that have come back",
    [DO_REDIRECT] = "redirect waiting hosts to the leader",
    [DO_DISCONNECT_ALL] = "close all links",
    [DO_REJOIN] = "end everything here, ask the other hosts to readmit this one",
    [DO_COMMIT_VIEW] = "commit the view",
    [DO_SET_VERDICT] = "set the verdict",
    [DO_SET_VERDICT_QUORUM_LOST] = "set the verdict",
    [DO_SET_VERDICT_STOPPED] = "set the verdict",
    [DO_UPLOAD] = "order all hosts to upload",
    [DO_SKIP_UPLOAD] = "wait for the other hosts",
    [DO_SHORTEN_UPLOADS] = "leave the time that a stop has",
    [DO_END_UPLOADS] = "end the uploads",
    [DO_APPLY_UPLOADS] = "apply failed uploads to the verdict",
    [DO_CONCLUDE] = "send the verdict to all hosts",
    [DO_MAY_LEAVE] = "exit after the last host",
};

/* Each phase has a bit for each event. */
bool phase_ignores(enum phase phase, enum phase_event event) {
    return (ignored[phase] >> event & 1) != 0;
}

/* Rows are searched in order, so that of a pair's rows the first with a guard that holds is taken.
 * NULL would mean a pair that is neither handled nor ignored; the test of the table finds those. */
const struct phase_row *phase_find(enum phase phase, enum phase_event event,
                                   const bool holds[GUARD_COUNT]) {
    for (const struct phase_row *row = rows; row < rows + ROWS; row++)
        if (row->phase == phase && row->event == event &&
            (row->guard == GUARD_NONE || holds[row->guard]))
            return row;
    return phase_ignores(phase, event) ? &unchanged[phase] : NULL;
}

const char *phase_name(enum phase phase) {
    return phases[phase];
}

const char *phase_event_name(enum phase_event event) {
    return events[event];
}

/* --- documentation ---------------------------------------------------------------------------- */

/* One item of the list, wrapped to the page's width: event, guard, actions, and the next phase if
 * it is another. */
static int print_row(const struct phase_row *row, struct buf *ret, struct error *err) {
    const char *guard = guards[row->guard];
    cleanup_buf struct buf line;
    buf_init(&line, 1024);
    if (buf_printf(&line, err, "- **%s**%s%s: ", events[row->event], guard[0] != '\0' ? ", " : "",
                   guard) != 0)
        return -1;
    for (size_t i = 0; i < PHASE_ACTIONS_MAX && (i == 0 || row->actions[i] != DO_NOTHING); i++)
        if (buf_printf(&line, err, "%s%s", i > 0 ? ", " : "", actions[row->actions[i]]) != 0)
            return -1;
    if (row->next != row->phase && buf_printf(&line, err, "; then **%s**", phases[row->next]) != 0)
        return -1;
    return markdown_wrap(buf_text(&line), ret, err);
}

/* Rows that do nothing are left out of the page. */
int phase_print(struct buf *ret, struct error *err) {
    for (size_t i = 0; i < ROWS; i++) {
        /* A heading wherever the phase changes. */
        bool first = i == 0 || rows[i].phase != rows[i - 1].phase;
        if (first &&
            buf_printf(ret, err, "%s### %s\n\n", i > 0 ? "\n" : "", phases[rows[i].phase]) != 0)
            return -1;
        if (rows[i].actions[0] != DO_NOTHING && print_row(&rows[i], ret, err) != 0)
            return -1;
    }
    return 0;
}

/* Draws an arrow from FROM to TO, labelled with the events that lead there; as many arrows as it
 * takes to keep lines short. */
static int draw_arrow(enum phase from, enum phase to, struct buf *ret, struct error *err) {
    size_t width = 0; /* of the arrow's line; 0: there is none */
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].phase != from || rows[i].next != to)
            continue;
        char reason[MARKDOWN_COLUMNS];
        const char *guard = guards[rows[i].guard];
        int size = snprintf(reason, sizeof(reason), "%s%s%s", events[rows[i].event],
                            guard[0] != '\0' ? ", " : "", guard);
        /* At least one reason stands on each arrow, however long it is. */
        bool fits = width > 0 && width + strlen("<br>") + (size_t)size <= MARKDOWN_COLUMNS;
        /* Mermaid breaks a label's line at <br>. */
        size_t start = ret->size;
        if (fits ? buf_printf(ret, err, "<br>%s", reason) != 0
                 : buf_printf(ret, err, "%s    %s --> %s: %s", width > 0 ? "\n" : "", phases[from],
                              phases[to], reason) != 0)
            return -1;
        width = fits ? width + ret->size - start : ret->size - start - (width > 0 ? 1 : 0);
    }
    return width > 0 ? buf_add_text(ret, "\n", err) : 0;
}

/* Two phases are entered without an event: the first one of a job, and GATHERING. Arrows from a
 * phase to itself are not drawn. */
int phase_draw(struct buf *ret, struct error *err) {
    if (buf_printf(ret, err,
                   "stateDiagram-v2\n    [*] --> %s: the job starts\n"
                   "    [*] --> %s: the master was lost\n",
                   phases[JOINING], phases[GATHERING]) != 0)
        return -1;
    /* Every ordered pair of phases is tried; most have no arrow. */
    for (unsigned from = 0; from < PHASE_COUNT; from++)
        for (unsigned to = 0; to < PHASE_COUNT; to++)
            if (from != to && draw_arrow((enum phase)from, (enum phase)to, ret, err) != 0)
                return -1;
    return buf_printf(ret, err, "    %s --> [*]\n", phases[JUDGED]);
}
