#include "entrypoint/master/phase.h"

#include "common/cleanup.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Short, so that a row is a line. */
#define JOINING PHASE_JOINING
#define EXAMINING PHASE_EXAMINING
#define PROVING PHASE_PROVING
#define GATHERING PHASE_GATHERING
#define RUNNING PHASE_RUNNING
#define CLEARING PHASE_CLEARING
#define UPLOADING PHASE_UPLOADING
#define JUDGED PHASE_JUDGED

/* What is done, and what comes then. A pair of phase and event that has no row here is in
 * `ignored`: one that is in neither fails the test that walks them all. The unconditional row of a
 * pair is its last.
 *
 * Why some are as they are:
 *   - A stop while hosts join waits for them all the same, if briefly: they have to hear of it.
 *   - A check goes on without those hosts that have not come: who is missing is a row of its own.
 *   - A stop after the first failure may not change the verdict, but no attempt follows it.
 *   - Once an attempt is ending, a second stop has nothing to shorten: the end has a deadline.
 *   - At the end of the budget shims are released with the SIGKILL: mpirun would wait for them.
 *   - A host that is lost while the last attempt is cleared away ends the job only if the rules of
 *     restarts say so; one that is alive but not ready counts as lost, and is cut off then.
 *   - While hosts upload what the job leaves nothing but that is waited for: a stop shortens it, a
 *     second one, or one after a stop that ended the job, leaves no time.
 *   - However hosts' look at the folder of checkpoints ends, their words there are taken away.
 *   - Where the first host may be lost no rank starts before all hosts have taken the attempt's
 * roll: by that the others go on when this host is lost. Who is out says so and uploads nothing.
 *   - A host that comes back waits: it has a part in the next attempt only, and is one of its hosts
 *     from the moment on that the last one has been judged.
 *   - A first host that is started anew gives way to who leads the job, but for a stop, which the
 *     hosts that it gathers have to hear of; and not before it has fetched what a later life needs.
 *   - Of two hosts with the first one's name the one that leaves has taken nobody in: nobody hears.
 *   - Once judged nothing changes the verdict, but the master stays until the last link is gone. */
static const struct phase_row rows[] = {
    {JOINING, EVENT_ALL_JOINED, GUARD_STOP, {DO_JUDGE}, JOINING},
    {JOINING, EVENT_ALL_JOINED, GUARD_FAULT, {DO_BLAME, DO_CONCLUDE}, JUDGED},
    {JOINING, EVENT_ALL_JOINED, GUARD_CHECK, {DO_MEET, DO_EXAMINE}, EXAMINING},
    {JOINING, EVENT_ALL_JOINED, GUARD_FOLLOWED, {DO_MEET, DO_PROVE}, PROVING},
    {JOINING, EVENT_ALL_JOINED, GUARD_NONE, {DO_MEET, DO_LAUNCH}, RUNNING},
    {JOINING, EVENT_TWIN, GUARD_NONE, {DO_PART, DO_BLAME, DO_CONCLUDE}, JUDGED},
    {JOINING, EVENT_READY_DEADLINE, GUARD_STOP, {DO_JUDGE}, JOINING},
    {JOINING, EVENT_READY_DEADLINE, GUARD_CHECK, {DO_MEET, DO_EXAMINE}, EXAMINING},
    {JOINING, EVENT_READY_DEADLINE, GUARD_NONE, {DO_BLAME, DO_CONCLUDE}, JUDGED},
    {JOINING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_BLAME, DO_CONCLUDE}, JUDGED},
    {JOINING, EVENT_HOST_GONE, GUARD_NONE, {DO_UNJOIN}, JOINING},
    {JOINING, EVENT_STOP, GUARD_STOP, {DO_NOTHING}, JOINING},
    {JOINING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_HURRY_JOIN}, JOINING},
    {JOINING, EVENT_STOP_AGAIN, GUARD_STOP, {DO_JUDGE}, JOINING},
    {JOINING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_HURRY_JOIN}, JOINING},
    {JOINING, EVENT_ELSEWHERE, GUARD_STOP, {DO_NOTHING}, JOINING},
    {JOINING, EVENT_ELSEWHERE, GUARD_FETCHES, {DO_SEND_ON}, JOINING},
    {JOINING, EVENT_ELSEWHERE, GUARD_NONE, {DO_SEND_ON, DO_PART, DO_COME_BACK}, JUDGED},
    {JOINING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    {EXAMINING, EVENT_TWIN, GUARD_NONE, {DO_PART, DO_BLAME, DO_CONCLUDE}, JUDGED},
    {EXAMINING, EVENT_EXAMINED, GUARD_NONE, {DO_CHECK}, EXAMINING},
    {EXAMINING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_BLAME, DO_CONCLUDE}, JUDGED},
    {EXAMINING, EVENT_HOST_GONE, GUARD_NONE, {DO_UNJOIN, DO_MISS}, EXAMINING},
    {EXAMINING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_JUDGE}, EXAMINING},
    {EXAMINING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_JUDGE}, EXAMINING},
    {EXAMINING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    {PROVING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_END_PROOF, DO_BLAME, DO_CONCLUDE}, JUDGED},
    {PROVING, EVENT_HOST_GONE, GUARD_LOST, {DO_NOTHING}, PROVING},
    {PROVING, EVENT_HOST_GONE, GUARD_NONE, {DO_LOSE, DO_END_PROOF, DO_JUDGE}, PROVING},
    {PROVING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_END_PROOF, DO_JUDGE}, PROVING},
    {PROVING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_END_PROOF, DO_JUDGE}, PROVING},
    {PROVING, EVENT_PROVED, GUARD_NONE, {DO_END_PROOF, DO_SURE, DO_LAUNCH}, RUNNING},
    {PROVING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    {GATHERING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_BLAME, DO_CONCLUDE}, JUDGED},
    {GATHERING, EVENT_HOST_GONE, GUARD_NONE, {DO_UNJOIN}, GATHERING},
    {GATHERING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_JUDGE}, GATHERING},
    {GATHERING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_JUDGE}, GATHERING},
    {GATHERING, EVENT_CAME, GUARD_NONE, {DO_ADMIT}, GATHERING},
    {GATHERING,
     EVENT_GATHERED,
     GUARD_NONE,
     {DO_MEET, DO_SUCCEED, DO_TAKE_BACK, DO_NEXT_ATTEMPT},
     RUNNING},
    {GATHERING, EVENT_BACK, GUARD_NONE, {DO_LOOK}, GATHERING},
    {GATHERING, EVENT_OUT, GUARD_RETURNS, {DO_SEND_ON, DO_PART, DO_COME_BACK}, JUDGED},
    {GATHERING, EVENT_OUT, GUARD_NONE, {DO_BLAME_OUT, DO_CONCLUDE}, JUDGED},
    {GATHERING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    {RUNNING, EVENT_LAUNCH_FAILED, GUARD_TARGETS, {DO_BLAME, DO_UPLOAD}, UPLOADING},
    {RUNNING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_BLAME, DO_CONCLUDE}, JUDGED},
    {RUNNING, EVENT_HOST_GONE, GUARD_LOST, {DO_NOTHING}, RUNNING},
    {RUNNING, EVENT_HOST_GONE, GUARD_NONE, {DO_LOSE, DO_LEAVE_AGENT, DO_AWAIT_LOST}, RUNNING},
    {RUNNING, EVENT_ALL_SEATED, GUARD_STOP, {DO_SEND_STOP}, RUNNING},
    {RUNNING, EVENT_ALL_SEATED, GUARD_NONE, {DO_NOTHING}, RUNNING},
    {RUNNING, EVENT_FAILURE, GUARD_NONE, {DO_GATHER}, RUNNING},
    {RUNNING, EVENT_MPIRUN_ENDED, GUARD_NONE, {DO_AWAIT_LAST}, RUNNING},
    {RUNNING, EVENT_ALL_HEARD, GUARD_NONE, {DO_JUDGE}, RUNNING},
    {RUNNING, EVENT_COLLECT_DEADLINE, GUARD_NONE, {DO_JUDGE}, RUNNING},
    {RUNNING, EVENT_ALL_ANSWERED, GUARD_NONE, {DO_JUDGE}, RUNNING},
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
    {RUNNING, EVENT_ALL_BEGUN, GUARD_NONE, {DO_SURE, DO_LAUNCH}, RUNNING},
    {RUNNING, EVENT_OUT, GUARD_RETURNS, {DO_SEND_ON, DO_PART, DO_COME_BACK}, JUDGED},
    {RUNNING, EVENT_OUT, GUARD_NONE, {DO_BLAME_OUT, DO_CONCLUDE}, JUDGED},
    {RUNNING, EVENT_TRY_AGAIN, GUARD_NONE, {DO_FORGET, DO_TAKE_BACK, DO_CLEAR}, CLEARING},
    {RUNNING, EVENT_ENDED, GUARD_TARGETS, {DO_UPLOAD}, UPLOADING},
    {RUNNING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    {CLEARING, EVENT_LAUNCH_FAILED, GUARD_TARGETS, {DO_BLAME, DO_UPLOAD}, UPLOADING},
    {CLEARING, EVENT_LAUNCH_FAILED, GUARD_NONE, {DO_BLAME, DO_CONCLUDE}, JUDGED},
    {CLEARING, EVENT_HOST_GONE, GUARD_LOST, {DO_NOTHING}, CLEARING},
    {CLEARING, EVENT_HOST_GONE, GUARD_NONE, {DO_LOSE, DO_WEIGH_LOSS}, CLEARING},
    {CLEARING, EVENT_STOP, GUARD_TARGETS, {DO_NOTE_STOP, DO_BLAME_STOP, DO_UPLOAD}, UPLOADING},
    {CLEARING, EVENT_STOP, GUARD_NONE, {DO_NOTE_STOP, DO_BLAME_STOP, DO_CONCLUDE}, JUDGED},
    {CLEARING,
     EVENT_STOP_AGAIN,
     GUARD_TARGETS,
     {DO_NOTE_STOP, DO_BLAME_STOP, DO_UPLOAD},
     UPLOADING},
    {CLEARING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_NOTE_STOP, DO_BLAME_STOP, DO_CONCLUDE}, JUDGED},
    {CLEARING, EVENT_UNFIT, GUARD_LOST, {DO_NOTHING}, CLEARING},
    {CLEARING, EVENT_UNFIT, GUARD_NONE, {DO_LOSE, DO_WEIGH_LOSS, DO_CUT}, CLEARING},
    {CLEARING, EVENT_ALL_CLEAR, GUARD_FOLLOWED, {DO_NEXT_ATTEMPT}, RUNNING},
    {CLEARING, EVENT_ALL_CLEAR, GUARD_NONE, {DO_NEXT_ATTEMPT, DO_LAUNCH}, RUNNING},
    {CLEARING, EVENT_BACK, GUARD_NONE, {DO_TAKE_BACK}, CLEARING},
    {CLEARING, EVENT_OUT, GUARD_RETURNS, {DO_SEND_ON, DO_PART, DO_COME_BACK}, JUDGED},
    {CLEARING, EVENT_OUT, GUARD_NONE, {DO_BLAME_OUT, DO_CONCLUDE}, JUDGED},
    {CLEARING, EVENT_ENDED, GUARD_TARGETS, {DO_UPLOAD}, UPLOADING},
    {CLEARING, EVENT_ENDED, GUARD_NONE, {DO_CONCLUDE}, JUDGED},

    {UPLOADING, EVENT_HOST_GONE, GUARD_LOST, {DO_NOTHING}, UPLOADING},
    {UPLOADING, EVENT_HOST_GONE, GUARD_NONE, {DO_LOSE, DO_COUNT_LOSS}, UPLOADING},
    {UPLOADING, EVENT_ALL_ANSWERED, GUARD_NONE, {DO_WEIGH, DO_CONCLUDE}, JUDGED},
    {UPLOADING, EVENT_STOP, GUARD_STOP, {DO_NOTHING}, UPLOADING},
    {UPLOADING, EVENT_STOP, GUARD_NONE, {DO_HURRY}, UPLOADING},
    {UPLOADING, EVENT_STOP_AGAIN, GUARD_NONE, {DO_END_UPLOADS}, UPLOADING},
    {UPLOADING, EVENT_OUT, GUARD_NONE, {DO_BLAME_OUT, DO_CONCLUDE}, JUDGED},
    {UPLOADING, EVENT_UPLOADED, GUARD_NONE, {DO_WEIGH, DO_CONCLUDE}, JUDGED},
    {UPLOADING, EVENT_UPLOAD_DEADLINE, GUARD_NONE, {DO_WEIGH, DO_CONCLUDE}, JUDGED},

    {JUDGED, EVENT_HOST_GONE, GUARD_NONE, {DO_MAY_LEAVE}, JUDGED},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
_Static_assert(EVENT_COUNT <= 64, "a mask has a bit for each event");

/* The events that change nothing, by phase. */
#define ON(event) (UINT64_C(1) << EVENT_##event)
static const uint64_t ignored[PHASE_COUNT] = {
    [JOINING] = ON(EXAMINED) | ON(ALL_SEATED) | ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) |
                ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) |
                ON(UNFIT) | ON(ALL_CLEAR) | ON(PROVED) | ON(CAME) | ON(GATHERED) | ON(ALL_BEGUN) |
                ON(BACK) | ON(OUT) | ON(TRY_AGAIN) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [EXAMINING] = ON(ALL_JOINED) | ON(READY_DEADLINE) | ON(ALL_SEATED) | ON(FAILURE) |
                  ON(MPIRUN_ENDED) | ON(ALL_HEARD) | ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) |
                  ON(HOLD_SPENT) | ON(BUDGET_SPENT) | ON(UNFIT) | ON(ALL_CLEAR) | ON(PROVED) |
                  ON(CAME) | ON(GATHERED) | ON(ALL_BEGUN) | ON(BACK) | ON(ELSEWHERE) | ON(OUT) |
                  ON(TRY_AGAIN) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [PROVING] = ON(ALL_JOINED) | ON(TWIN) | ON(READY_DEADLINE) | ON(EXAMINED) | ON(ALL_SEATED) |
                ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) | ON(COLLECT_DEADLINE) |
                ON(ALL_ANSWERED) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) | ON(UNFIT) | ON(ALL_CLEAR) |
                ON(CAME) | ON(GATHERED) | ON(ALL_BEGUN) | ON(BACK) | ON(ELSEWHERE) | ON(OUT) |
                ON(TRY_AGAIN) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [GATHERING] = ON(ALL_JOINED) | ON(TWIN) | ON(READY_DEADLINE) | ON(EXAMINED) | ON(ALL_SEATED) |
                  ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) | ON(COLLECT_DEADLINE) |
                  ON(ALL_ANSWERED) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) | ON(UNFIT) | ON(ALL_CLEAR) |
                  ON(PROVED) | ON(ALL_BEGUN) | ON(ELSEWHERE) | ON(TRY_AGAIN) | ON(UPLOADED) |
                  ON(UPLOAD_DEADLINE),
    [RUNNING] = ON(ALL_JOINED) | ON(TWIN) | ON(READY_DEADLINE) | ON(EXAMINED) | ON(UNFIT) |
                ON(ALL_CLEAR) | ON(PROVED) | ON(CAME) | ON(GATHERED) | ON(BACK) | ON(ELSEWHERE) |
                ON(UPLOADED) | ON(UPLOAD_DEADLINE),
    [CLEARING] = ON(ALL_JOINED) | ON(TWIN) | ON(READY_DEADLINE) | ON(EXAMINED) | ON(ALL_SEATED) |
                 ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) | ON(COLLECT_DEADLINE) |
                 ON(ALL_ANSWERED) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) | ON(PROVED) | ON(CAME) |
                 ON(GATHERED) | ON(ALL_BEGUN) | ON(ELSEWHERE) | ON(TRY_AGAIN) | ON(UPLOADED) |
                 ON(UPLOAD_DEADLINE),
    [UPLOADING] = ON(ALL_JOINED) | ON(TWIN) | ON(READY_DEADLINE) | ON(EXAMINED) |
                  ON(LAUNCH_FAILED) | ON(ALL_SEATED) | ON(FAILURE) | ON(MPIRUN_ENDED) |
                  ON(ALL_HEARD) | ON(COLLECT_DEADLINE) | ON(HOLD_SPENT) | ON(BUDGET_SPENT) |
                  ON(UNFIT) | ON(ALL_CLEAR) | ON(PROVED) | ON(CAME) | ON(GATHERED) | ON(ALL_BEGUN) |
                  ON(BACK) | ON(ELSEWHERE) | ON(TRY_AGAIN) | ON(ENDED),
    [JUDGED] = ON(ALL_JOINED) | ON(TWIN) | ON(READY_DEADLINE) | ON(EXAMINED) | ON(LAUNCH_FAILED) |
               ON(ALL_SEATED) | ON(FAILURE) | ON(MPIRUN_ENDED) | ON(ALL_HEARD) |
               ON(COLLECT_DEADLINE) | ON(ALL_ANSWERED) | ON(STOP) | ON(STOP_AGAIN) |
               ON(HOLD_SPENT) | ON(BUDGET_SPENT) | ON(UNFIT) | ON(ALL_CLEAR) | ON(PROVED) |
               ON(CAME) | ON(GATHERED) | ON(ALL_BEGUN) | ON(BACK) | ON(ELSEWHERE) | ON(OUT) |
               ON(TRY_AGAIN) | ON(ENDED) | ON(UPLOADED) | ON(UPLOAD_DEADLINE),
};

/* The rows of ignored events. */
static const struct phase_row unchanged[PHASE_COUNT] = {
    [JOINING] = {.phase = JOINING, .next = JOINING},
    [EXAMINING] = {.phase = EXAMINING, .next = EXAMINING},
    [PROVING] = {.phase = PROVING, .next = PROVING},
    [GATHERING] = {.phase = GATHERING, .next = GATHERING},
    [RUNNING] = {.phase = RUNNING, .next = RUNNING},
    [CLEARING] = {.phase = CLEARING, .next = CLEARING},
    [UPLOADING] = {.phase = UPLOADING, .next = UPLOADING},
    [JUDGED] = {.phase = JUDGED, .next = JUDGED},
};

static const char *const phases[PHASE_COUNT] = {"joining", "examining", "proving",   "gathering",
                                                "running", "clearing",  "uploading", "judged"};

static const char *const events[EVENT_COUNT] = {
    [EVENT_ALL_JOINED] = "all hosts have joined",
    [EVENT_TWIN] = "another host has this one's name",
    [EVENT_READY_DEADLINE] = "no more time to join",
    [EVENT_EXAMINED] = "all hosts have looked",
    [EVENT_LAUNCH_FAILED] = "the launch failed here",
    [EVENT_HOST_GONE] = "a host is gone",
    [EVENT_ALL_SEATED] = "all ranks have started",
    [EVENT_FAILURE] = "a rank or a daemon failed",
    [EVENT_MPIRUN_ENDED] = "mpirun ended",
    [EVENT_ALL_HEARD] = "nothing more will be heard",
    [EVENT_COLLECT_DEADLINE] = "no more time to report",
    [EVENT_ALL_ANSWERED] = "all hosts have answered",
    [EVENT_STOP] = "a stop",
    [EVENT_STOP_AGAIN] = "a second stop",
    [EVENT_HOLD_SPENT] = "no more time to start",
    [EVENT_BUDGET_SPENT] = "no more time to stop",
    [EVENT_UNFIT] = "a host is not ready",
    [EVENT_ALL_CLEAR] = "all hosts are ready",
    [EVENT_PROVED] = "all hosts share the folder",
    [EVENT_CAME] = "one more host has come",
    [EVENT_GATHERED] = "enough hosts have come",
    [EVENT_ALL_BEGUN] = "all hosts have taken the roll",
    [EVENT_BACK] = "a host is back",
    [EVENT_ELSEWHERE] = "the job goes on under another host",
    [EVENT_OUT] = "too few hosts are heard",
    [EVENT_TRY_AGAIN] = "another attempt follows",
    [EVENT_ENDED] = "the job has ended",
    [EVENT_UPLOADED] = "all hosts have uploaded",
    [EVENT_UPLOAD_DEADLINE] = "no more time to upload",
};

static const char *const guards[GUARD_COUNT] = {
    [GUARD_NONE] = "",
    [GUARD_STOP] = "a stop was asked for",
    [GUARD_ENDING] = "it is ending",
    [GUARD_FAULT] = "a host has a fault",
    [GUARD_CHECK] = "a check",
    [GUARD_TARGETS] = "the job uploads",
    [GUARD_LOST] = "it was lost",
    [GUARD_FETCHES] = "this host still fetches",
    [GUARD_FOLLOWED] = "the first host may be lost",
    [GUARD_RETURNS] = "it may come back",
};

static const char *const actions[DO_COUNT] = {
    [DO_NOTHING] = "nothing",
    [DO_MEET] = "choose the interface",
    [DO_EXAMINE] = "have all hosts look at each other",
    [DO_MISS] = "wait for the others",
    [DO_CHECK] = "print what was found",
    [DO_LAUNCH] = "start mpirun",
    [DO_UNJOIN] = "it joins again",
    [DO_LOSE] = "it is lost",
    [DO_LEAVE_AGENT] = "its agent leaves",
    [DO_AWAIT_LOST] = "judge in 0.5 s, or when all is heard",
    [DO_AWAIT_LAST] = "judge in 1 s, or when silent hosts are heard or lost",
    [DO_GATHER] = "gather for 0.3 s, end all ranks",
    [DO_AWAIT_KILLED] = "judge in 1 s",
    [DO_RELEASE] = "release shims",
    [DO_JUDGE] = "judge",
    [DO_NOTE_STOP] = "note it",
    [DO_HURRY_JOIN] = "5 s to join",
    [DO_BEGIN_STOP] = "send it, or hold it until all have started",
    [DO_NOTE_LATE_STOP] = "no other attempt",
    [DO_SEND_STOP] = "send it",
    [DO_END_BUDGET] = "its time is over",
    [DO_TERM_MPIRUN] = "SIGTERM to mpirun",
    [DO_KILL] = "SIGKILL to ranks",
    [DO_FORGET] = "forget the attempt",
    [DO_CLEAR] = "have all hosts clear up",
    [DO_WEIGH_LOSS] = "go on or end",
    [DO_CUT] = "cut its link",
    [DO_NEXT_ATTEMPT] = "tell who is gone",
    [DO_PROVE] = "have all hosts look whether they share the folder of checkpoints",
    [DO_END_PROOF] = "take their words away from there",
    [DO_SUCCEED] = "who has not come is lost",
    [DO_ADMIT] = "learn what it knows, begin, if they are enough",
    [DO_LOOK] = "begin, if they are enough",
    [DO_TAKE_BACK] = "take those in that are back",
    [DO_SEND_ON] = "send on who waits here",
    [DO_PART] = "cut all links",
    [DO_COME_BACK] = "end all that runs here, ask the others as their worker",
    [DO_SURE] = "tell that all have taken the roll",
    [DO_BLAME] = "that is the verdict",
    [DO_BLAME_OUT] = "that is the verdict",
    [DO_BLAME_STOP] = "that is the verdict",
    [DO_UPLOAD] = "have all hosts upload",
    [DO_COUNT_LOSS] = "wait for the others",
    [DO_HURRY] = "a stop's time is left",
    [DO_END_UPLOADS] = "its time is over",
    [DO_WEIGH] = "what is missing changes the verdict",
    [DO_CONCLUDE] = "tell all hosts",
    [DO_MAY_LEAVE] = "leave after the last",
};

bool phase_ignores(enum phase phase, enum phase_event event) {
    return (ignored[phase] >> event & 1) != 0;
}

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

enum { COLUMNS = 100 };

/* Appends LINE, broken at spaces so that no line is too long, the later ones indented by two. */
static int print_wrapped(const char *line, struct buf *ret, struct error *err) {
    for (const char *indent = "";; indent = "  ") {
        size_t room = COLUMNS - strlen(indent);
        size_t size = strlen(line);
        bool fits = size <= room;
        if (!fits)
            for (size = room; size > 1 && line[size] != ' ';)
                size--;
        if (buf_printf(ret, err, "%s%.*s\n", indent, (int)size, line) != 0)
            return -1;
        if (fits)
            return 0;
        line += size + 1;
    }
}

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
    return print_wrapped(buf_text(&line), ret, err);
}

int phase_print(struct buf *ret, struct error *err) {
    for (size_t i = 0; i < ROWS; i++) {
        bool first = i == 0 || rows[i].phase != rows[i - 1].phase;
        if (first &&
            buf_printf(ret, err, "%s### %s\n\n", i > 0 ? "\n" : "", phases[rows[i].phase]) != 0)
            return -1;
        if (rows[i].actions[0] != DO_NOTHING && print_row(&rows[i], ret, err) != 0)
            return -1;
    }
    return 0;
}

/* The arrow for all that leads from FROM to TO, its reasons below each other; where they do not fit
 * in a line, another one for those that are left. */
static int draw_arrow(enum phase from, enum phase to, struct buf *ret, struct error *err) {
    size_t width = 0; /* of the arrow's line; 0: there is none */
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].phase != from || rows[i].next != to)
            continue;
        char reason[COLUMNS];
        const char *guard = guards[rows[i].guard];
        int size = snprintf(reason, sizeof(reason), "%s%s%s", events[rows[i].event],
                            guard[0] != '\0' ? ", " : "", guard);
        bool fits = width > 0 && width + strlen("<br>") + (size_t)size <= COLUMNS;
        size_t start = ret->size;
        if (fits ? buf_printf(ret, err, "<br>%s", reason) != 0
                 : buf_printf(ret, err, "%s    %s --> %s: %s", width > 0 ? "\n" : "", phases[from],
                              phases[to], reason) != 0)
            return -1;
        width = fits ? width + ret->size - start : ret->size - start - (width > 0 ? 1 : 0);
    }
    return width > 0 ? buf_add_text(ret, "\n", err) : 0;
}

int phase_draw(struct buf *ret, struct error *err) {
    if (buf_printf(ret, err,
                   "stateDiagram-v2\n    [*] --> %s: the job begins\n"
                   "    [*] --> %s: the master was lost\n",
                   phases[JOINING], phases[GATHERING]) != 0)
        return -1;
    for (unsigned from = 0; from < PHASE_COUNT; from++)
        for (unsigned to = 0; to < PHASE_COUNT; to++)
            if (from != to && draw_arrow((enum phase)from, (enum phase)to, ret, err) != 0)
                return -1;
    return buf_printf(ret, err, "    %s --> [*]\n", phases[JUDGED]);
}
