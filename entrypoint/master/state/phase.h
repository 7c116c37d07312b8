/* State table of the master: phases of a job, events, and the actions that follow.
 *
 * The table is data: docs/internals/master-states.md is generated from it, and a test walks it. The
 * actions are in dispatch.c. The files that detect what happens (join, lease, launch, reports,
 * stop, relaunch ...) raise events and decide nothing themselves (state.h). */
#ifndef ENTRYPOINT_MASTER_STATE_PHASE_H
#define ENTRYPOINT_MASTER_STATE_PHASE_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>

enum phase {
    PHASE_JOINING,
    PHASE_EXAMINING, /* `ringmaster check`: hosts examine themselves and the network */
    PHASE_PROBING,   /* hosts test whether they share the checkpoint directory */
    PHASE_GATHERING, /* after a failover: the new master waits for the hosts of the old one */
    PHASE_RUNNING,   /* ranks run, or start once all hosts have accepted the attempt's view */
    PHASE_CLEARING,  /* an attempt has failed; its processes are ended before the next one */
    PHASE_UPLOADING, /* the verdict is known, except for the result of the uploads */
    PHASE_JUDGED,
    PHASE_COUNT,
};

enum phase_event {
    EVENT_ALL_JOINED,
    EVENT_DUPLICATE_NAME, /* another host has the first host's name and stays */
    EVENT_READY_DEADLINE, /* the time for hosts to join is over */
    EVENT_EXAMINED,       /* all hosts have sent their findings, or the time for it is over */
    EVENT_LAUNCH_FAILED,  /* because of an error on this host */
    EVENT_HOST_GONE,      /* its link has closed, or it was silent for too long */
    EVENT_ALL_STARTED,    /* every rank has started */
    EVENT_FAILURE,        /* a rank failed or stalled, or an MPI daemon failed */
    EVENT_MPIRUN_ENDED,
    EVENT_ALL_HEARD,        /* no further reports are expected */
    EVENT_COLLECT_DEADLINE, /* the time for reports is over */
    EVENT_ALL_ANSWERED,     /* all hosts left have answered the heartbeat that success waits for */
    EVENT_STOP,
    EVENT_STOP_AGAIN, /* a second request: stop now */
    EVENT_HOLD_SPENT, /* a stop waited for ranks that did not start in time */
    EVENT_BUDGET_SPENT,
    EVENT_CLEANUP_FAILED, /* a host did not get ready for the next attempt */
    EVENT_UNFIT,          /* this host did not, and another one may lead the job */
    EVENT_CLEANUP_DONE,   /* all hosts are ready for it, and the pause is over */
    EVENT_DIR_SHARED,     /* all hosts share the checkpoint directory */
    EVENT_PEER_ARRIVED,   /* after a failover: one more host has connected */
    EVENT_QUORUM_REACHED, /* enough hosts are here, and no other part of the job can run */
    EVENT_VIEW_ACCEPTED,  /* all hosts have accepted the attempt's view */
    EVENT_HOST_REJOINED,  /* a host that connected during the job can take part in an attempt */
    EVENT_LED_ELSEWHERE,  /* another host leads the job */
    EVENT_QUORUM_LOST,    /* too few hosts answer: others may continue without this one */
    EVENT_TRY_AGAIN,      /* the attempt's verdict allows another attempt */
    EVENT_ENDED,          /* the job's verdict is known */
    EVENT_UPLOADED,       /* all hosts have uploaded, or an upload has failed */
    EVENT_UPLOAD_DEADLINE,
    EVENT_COUNT,
};

/* Conditions of rows. The first row with a condition that holds is used. */
enum phase_guard {
    GUARD_NONE,
    GUARD_STOP,       /* a stop was requested */
    GUARD_ENDING,     /* the attempt is ending */
    GUARD_FAULT,      /* a host has reported an error that makes the job impossible */
    GUARD_CHECK,      /* this is `ringmaster check` */
    GUARD_TARGETS,    /* the job's hosts upload their output */
    GUARD_LOST,       /* the event's host was lost before */
    GUARD_SPARE,      /* the event's host runs no ranks */
    GUARD_FETCHES,    /* this host still downloads what a later role does not download again */
    GUARD_FAILOVER,   /* another host may take over from the first one */
    GUARD_MAY_REJOIN, /* this host may ask the other hosts to readmit it */
    GUARD_COUNT,
};

enum phase_action {
    DO_NOTHING,          /* also ends the list of a row */
    DO_CHOOSE_INTERFACE, /* the one that leads to the other hosts */
    DO_EXAMINE,          /* order all hosts to examine themselves */
    DO_SKIP_HOST,        /* no longer wait for the findings of this host */
    DO_PRINT_CHECK,      /* print the findings */
    DO_LAUNCH,
    DO_UNJOIN,      /* the host has to join again */
    DO_MARK_LOST,   /* the host, for good */
    DO_DROP_SPARE,  /* mark the host lost, which no attempt notices */
    DO_LEAVE_AGENT, /* end the host's agent, which tells mpirun that its daemon is gone */
    DO_AWAIT_LOST,  /* judge shortly: no report outranks a lost host */
    DO_AWAIT_LAST,  /* wait for reports that may still be on their way */
    DO_COLLECT,     /* collect reports for 300 ms, then end all ranks */
    DO_AWAIT_KILLED,
    DO_RELEASE, /* let shims that have reported exit */
    DO_JUDGE,   /* then raise TRY_AGAIN or ENDED */
    DO_NOTE_STOP,
    DO_SHORTEN_JOIN,
    DO_BEGIN_STOP,
    DO_NOTE_LATE_STOP,
    DO_SEND_STOP,
    DO_END_BUDGET,
    DO_TERM_MPIRUN,
    DO_KILL,
    DO_RESET_ATTEMPT,
    DO_CLEAR, /* order all hosts to end what is left of the attempt */
    DO_DECIDE_ON_LOSS,
    DO_DISCONNECT, /* close the host's link if the others continue */
    DO_NEXT_ATTEMPT,
    DO_PROBE,        /* order all hosts to probe the checkpoint directory */
    DO_END_PROBE,    /* order all hosts to remove their probe files */
    DO_TAKE_OVER,    /* absent hosts are lost; the next attempt begins */
    DO_ADMIT,        /* learn the host's views, then DO_CHECK_QUORUM */
    DO_CHECK_QUORUM, /* raise QUORUM_REACHED if enough hosts are here */
    DO_READMIT,      /* hosts that connected during the job take part again */
    DO_REDIRECT,     /* tell waiting hosts to look for the leader of the job */
    DO_DISCONNECT_ALL,
    DO_REJOIN,      /* ask the other hosts to readmit this host */
    DO_COMMIT_VIEW, /* tell all hosts that every host has accepted the view */
    DO_SET_VERDICT, /* from the fault */
    DO_SET_VERDICT_QUORUM_LOST,
    DO_SET_VERDICT_STOPPED, /* between two attempts */
    DO_UPLOAD,              /* order all hosts to upload */
    DO_SKIP_UPLOAD,         /* no longer wait for the upload of this host */
    DO_SHORTEN_UPLOADS,     /* to the time that a stop has */
    DO_END_UPLOADS,         /* the time is over */
    DO_APPLY_UPLOADS,       /* a failed upload changes the verdict */
    DO_CONCLUDE,            /* tell all hosts the verdict */
    DO_MAY_LEAVE,           /* the master exits last */
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

/* Returns the row of a phase and an event; HOLDS says which guards hold. Every pair has one. */
const struct phase_row *phase_find(enum phase phase, enum phase_event event,
                                   const bool holds[GUARD_COUNT]);

const char *phase_name(enum phase phase);
const char *phase_event_name(enum phase_event event);

/* True if EVENT never has an effect in PHASE: such a pair has no rows. */
bool phase_ignores(enum phase phase, enum phase_event event);

/* Append the table as Markdown lists, and the phases and their transitions as a Mermaid state
 * diagram, for docs/internals/master-states.md. */
int phase_print(struct buf *ret, struct error *err);
int phase_draw(struct buf *ret, struct error *err);

#endif
