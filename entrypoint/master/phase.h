/* The life of a job as its master sees it: a table of what is done when something happens, and what
 * comes then. It is data, so that it can be read, drawn (docs/internals/master-states.md) and
 * walked by a test; who does the things is in dispatch.c. The files that notice what happens (join,
 * lease, launch, collect, stop, relaunch ...) raise events and leave what follows to it (state.h).
 */
#ifndef ENTRYPOINT_MASTER_PHASE_H
#define ENTRYPOINT_MASTER_PHASE_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>

enum phase {
    PHASE_JOINING,
    PHASE_EXAMINING, /* `ringmaster check`: hosts look at themselves and at each other */
    PHASE_PROVING,   /* hosts look whether they share the folder of checkpoints */
    PHASE_GATHERING, /* a new master awaits those that have lost the old one */
    PHASE_RUNNING,   /* mpirun has been started, or is when all have taken the attempt's roll */
    PHASE_CLEARING,  /* an attempt has failed; its processes are ended for the next one */
    PHASE_UPLOADING, /* the verdict is known, but for whether what the job leaves is uploaded */
    PHASE_JUDGED,
    PHASE_COUNT,
};

enum phase_event {
    EVENT_ALL_JOINED,
    EVENT_TWIN,           /* another host has the first one's name, and stays */
    EVENT_READY_DEADLINE, /* of waiting for hosts */
    EVENT_EXAMINED,       /* all hosts have told what they found, or there is no more time */
    EVENT_LAUNCH_FAILED,  /* by a fault of this host */
    EVENT_HOST_GONE,      /* its link ended, or its silence lasted too long */
    EVENT_ALL_SEATED,     /* every rank has started */
    EVENT_FAILURE,        /* a rank ended badly or stalled, or a daemon did */
    EVENT_MPIRUN_ENDED,
    EVENT_ALL_HEARD,        /* nothing more will be reported */
    EVENT_COLLECT_DEADLINE, /* of waiting for reports */
    EVENT_ALL_ANSWERED,     /* all hosts that are left, the heartbeat that a good end waits for */
    EVENT_STOP,
    EVENT_STOP_AGAIN, /* by who means it */
    EVENT_HOLD_SPENT, /* a stop waited for ranks that did not start */
    EVENT_BUDGET_SPENT,
    EVENT_UNFIT,     /* a host did not get ready for the next attempt */
    EVENT_ALL_CLEAR, /* all hosts are ready for it, and the pause is over */
    EVENT_PROVED,    /* they share it */
    EVENT_CAME,      /* one more of those that have lost the old master */
    EVENT_GATHERED,  /* enough hosts have come, and all that might run elsewhere has ended */
    EVENT_ALL_BEGUN, /* all hosts have taken the attempt's roll */
    EVENT_BACK,      /* a host that has come while the job runs can have a part in an attempt */
    EVENT_ELSEWHERE, /* another host leads the job */
    EVENT_OUT,       /* too few hosts are heard: others may go on without this one */
    EVENT_TRY_AGAIN, /* the attempt's verdict allows it */
    EVENT_ENDED,     /* the job's verdict is known */
    EVENT_UPLOADED,  /* by all hosts, or it has failed */
    EVENT_UPLOAD_DEADLINE,
    EVENT_COUNT,
};

/* What a row may ask about; the first row that fits counts. */
enum phase_guard {
    GUARD_NONE,
    GUARD_STOP,     /* a stop was asked for */
    GUARD_ENDING,   /* the attempt is ending */
    GUARD_FAULT,    /* a host has told of one that makes a job impossible */
    GUARD_CHECK,    /* this is `ringmaster check` */
    GUARD_TARGETS,  /* the job's hosts upload what it leaves */
    GUARD_LOST,     /* the event's host had been lost before */
    GUARD_FETCHES,  /* this host has not all that it needs, which a later life does not fetch */
    GUARD_FOLLOWED, /* the first host may be lost, and another one follow it */
    GUARD_RETURNS,  /* this host may ask the others to be taken back */
    GUARD_COUNT,
};

enum phase_action {
    DO_NOTHING, /* also the end of a row's list */
    DO_MEET,    /* choose the interface that leads to the others */
    DO_EXAMINE, /* all hosts are told to */
    DO_MISS,    /* nobody waits for what that host finds */
    DO_CHECK,   /* print what was found */
    DO_LAUNCH,
    DO_UNJOIN,      /* it has to join again */
    DO_LOSE,        /* the host, for good */
    DO_LEAVE_AGENT, /* mpirun hears that its daemon there is gone */
    DO_AWAIT_LOST,  /* judge in a moment: nothing outranks a lost host */
    DO_AWAIT_LAST,  /* reports may be under way */
    DO_GATHER,      /* reports for 300 ms, then end all ranks */
    DO_AWAIT_KILLED,
    DO_RELEASE, /* shims that have reported may leave */
    DO_JUDGE,   /* and ask whether another attempt follows: TRY_AGAIN or ENDED */
    DO_NOTE_STOP,
    DO_HURRY_JOIN,
    DO_BEGIN_STOP,
    DO_NOTE_LATE_STOP,
    DO_SEND_STOP,
    DO_END_BUDGET,
    DO_TERM_MPIRUN,
    DO_KILL,
    DO_FORGET, /* the attempt */
    DO_CLEAR,  /* all hosts are told to end what is left of it */
    DO_WEIGH_LOSS,
    DO_CUT, /* the host's link, if the others go on */
    DO_NEXT_ATTEMPT,
    DO_PROVE,       /* all hosts are told to */
    DO_END_PROOF,   /* all hosts are told to take away what they wrote for it */
    DO_SUCCEED,     /* whoever has not come is lost; the attempt is the next one */
    DO_ADMIT,       /* what that host knows is learnt, and DO_LOOK follows */
    DO_LOOK,        /* whether enough have come: GATHERED, if so */
    DO_TAKE_BACK,   /* hosts that have come while the job ran have a part in it */
    DO_SEND_ON,     /* who has come here looks for whoever leads the job */
    DO_PART,        /* nobody is told anything any more */
    DO_COME_BACK,   /* this host asks the others to be taken back */
    DO_SURE,        /* tell all that all have taken the roll */
    DO_BLAME,       /* the fault becomes the job's verdict */
    DO_BLAME_OUT,   /* so does that too few hosts are heard */
    DO_BLAME_STOP,  /* so does the stop between two attempts */
    DO_UPLOAD,      /* all hosts are told to */
    DO_COUNT_LOSS,  /* nobody waits for that host */
    DO_HURRY,       /* within the time that a stop has */
    DO_END_UPLOADS, /* there is no time left */
    DO_WEIGH,       /* what was not uploaded changes the verdict */
    DO_CONCLUDE,    /* tell everybody the verdict */
    DO_MAY_LEAVE,   /* the master leaves last */
    DO_COUNT,
};

enum { PHASE_ACTIONS_MAX = 4 };

struct phase_row {
    enum phase phase;
    enum phase_event event;
    enum phase_guard guard;
    enum phase_action actions[PHASE_ACTIONS_MAX];
    enum phase next; /* entered before the actions */
};

/* The row for what happens while HOLDS says which guards hold. There is one for every pair. */
const struct phase_row *phase_find(enum phase phase, enum phase_event event,
                                   const bool holds[GUARD_COUNT]);

const char *phase_name(enum phase phase);
const char *phase_event_name(enum phase_event event);

/* Whether EVENT never does anything in PHASE: such a pair has no rows of its own. */
bool phase_ignores(enum phase phase, enum phase_event event);

/* Appends the table as lists of Markdown, and the phases and what leads from one to another as a
 * state diagram of Mermaid's, both as they stand in docs/internals/master-states.md. */
int phase_print(struct buf *ret, struct error *err);
int phase_draw(struct buf *ret, struct error *err);

#endif
