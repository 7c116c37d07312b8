/* State of one attempt: one launch of the program and everything known about it.
 *
 * It records which ranks have started, how they ended, which hosts were lost and what was
 * requested. It is judged once and then reset as a whole. Only the functions below write it. Pure:
 * no loop and no socket; the caller passes times in (clock_boot() of the master in ns; 0: never).
 */
#ifndef ENTRYPOINT_MASTER_STATE_ATTEMPT_H
#define ENTRYPOINT_MASTER_STATE_ATTEMPT_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/outcome/straggler.h"
#include "entrypoint/outcome/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ATTEMPT_NOTE_SIZE = 256,
    ATTEMPT_STALLED_MAX = 16,
    ATTEMPT_STUCK_SIZE = 448,
    ATTEMPT_OTHERS_SIZE = 256,
};

struct attempt {
    unsigned number; /* from 1; messages about another attempt are ignored */
    size_t ranks;
    size_t hosts;
    unsigned *rank_host; /* by rank: the host that it runs on */
    bool *started;       /* by rank */
    bool *reported;      /* by rank */
    char **quiet; /* by rank: NULL while it is busy; else what its threads wait in, as it neither
                     prints nor works; owned */
    struct straggler straggler; /* of those that show progress */
    bool *lost;                 /* by host */
    size_t started_count;
    struct rank_report *reports; /* in order of arrival, at most one per rank */
    size_t report_count;
    int64_t may_lose; /* ranks that may be lost without ending it */
    bool *forgone;    /* by rank: it is lost, and the others continue */
    size_t forgone_count;
    struct verdict_loss *losses;
    size_t loss_count;
    int64_t launched; /* clock_now() */
    bool direct;      /* without mpirun: hosts start their ranks themselves */
    int mpirun_code;
    bool mpirun_ended;
    struct verdict_tool tool;          /* mpirun or the first daemon that ended without a request */
    char tool_note[ATTEMPT_NOTE_SIZE]; /* as text; or about the last daemon that was refused */
    bool note_is_refusal;
    bool failed;       /* something has failed */
    bool gathering;    /* the first failure is known, but earlier ones may still be reported */
    bool ending;       /* it will be judged, whatever happens */
    bool odd_reported; /* the rank that waits elsewhere than all others, all of them quiet, was
                          named */
    int64_t stalled;
    unsigned stalled_rank;
    unsigned stalled_host;
    unsigned stalled_count; /* number of stalled ranks, the first included */
    char stalled_states[RANK_REPORT_EVIDENCE_SIZE]; /* what their threads waited in, one line per
                                                       rank */
    char others[ATTEMPT_OTHERS_SIZE]; /* where other ranks were when the first one failed; "" */
    char lasting[ATTEMPT_STUCK_SIZE]; /* the first rank that had printed an exception before and not
                                         ended; "" */
    int64_t lasting_since;
    char stuck[ATTEMPT_STUCK_SIZE]; /* which ranks wait for which (evidence/stuck.h); "": unknown */
    int64_t dropped; /* when Open MPI first said that it drops a rank's connections */
    unsigned dropped_rank;
    struct net_address dropped_source;
    int64_t stop_asked;
    unsigned stop_host;
    bool stop_sent;
    int stop_signal;   /* that ranks were sent; 0: none */
    int warned;        /* likewise, the signal that warns of the end */
    int64_t stop_late; /* the first stop that came during the analysis of a failure */
    int64_t killed;    /* when the budget of the stop was over */
};

/* Starts attempt NUMBER on the hosts of CLUSTER that are not lost. *A must be zeroed or done with.
 */
int attempt_open(struct attempt *a, unsigned number, const struct cluster *cluster,
                 struct error *err);
void attempt_done(struct attempt *a);
/* Resets everything and increments the number. */
void attempt_forget(struct attempt *a);

/* Returns true if RANK runs on HOST. Messages about other hosts' ranks are ignored. */
bool attempt_is_rank_of(const struct attempt *a, size_t host, int64_t rank);

void attempt_launched(struct attempt *a, int64_t now, bool direct);
/* Lets COUNT ranks be lost without ending it. */
void attempt_may_lose(struct attempt *a, int64_t count);
/* Records the start of a rank. Returns true if it was the last one. A rank of another host, or one
 * that has started already, is ignored. */
bool attempt_rank_started(struct attempt *a, size_t host, int64_t rank);
/* Records a report; the rank must run on r->host. Of two reports about one rank a failure replaces
 * a good end. Returns false if R changes nothing. */
bool attempt_report(struct attempt *a, const struct rank_report *r);
/* Records that the others continue without RANK, which has reported a failure. Returns false if
 * they cannot: not all ranks had started, as many are lost as may be, none is left, or the attempt
 * is ending. */
bool attempt_forgo(struct attempt *a, unsigned rank);
void attempt_lose(struct attempt *a, size_t host, int64_t now, const char *why);
/* Records a stalled rank. The first one is the failure; what the threads of later ones wait in
 * shows whether they waited for it. STATES is the line about that. Ranks of other hosts, and ranks
 * beyond ATTEMPT_STALLED_MAX, are ignored. */
enum attempt_stall { ATTEMPT_STALL_NOTHING, ATTEMPT_STALL_LATER, ATTEMPT_STALL_FIRST };
enum attempt_stall attempt_stall(struct attempt *a, size_t host, int64_t rank, const char *states,
                                 int64_t now);
/* Records which ranks wait for which; "": the job continues. */
void attempt_note_stuck(struct attempt *a, const char *text);
/* Notes where RANK of HOST was when another one failed; as many as fit. */
void attempt_note_place(struct attempt *a, unsigned rank, const char *host, const char *place);
/* Notes that RANK had printed TEXT, an exception, at AT (clock_boot()), and not ended; "": it had
 * not. The earliest one counts. */
void attempt_note_exception(struct attempt *a, unsigned rank, const char *host, const char *text,
                            int64_t at);
/* Records that Open MPI drops the connections of RANK because they arrive from SOURCE. Returns true
 * for the first such rank, which is a failure; an unknown rank changes nothing. */
bool attempt_drop(struct attempt *a, int64_t rank, const struct net_address *source, int64_t now);
/* Records that a rank is quiet and what its threads wait in ("" if unknown), or, with NULL, that it
 * is busy again. Ranks of other hosts are ignored. */
void attempt_quiet(struct attempt *a, size_t host, int64_t rank, const char *states);
/* Returns the first rank that has not ended if all such ranks are quiet, so that they can wait for
 * no other rank; -1 if one is busy or all have ended. */
int64_t attempt_all_quiet(const struct attempt *a);
/* Records how far a rank is. Ranks of other hosts are ignored. */
void attempt_pace(struct attempt *a, size_t host, int64_t rank,
                  const struct straggler_point *point);
/* Call it every few seconds. Returns true if it finds a rank that the others wait for. */
bool attempt_find_slow(struct attempt *a, int64_t now, struct straggler_finding *ret);
void attempt_mpirun_ended(struct attempt *a, int code);

/* How mpirun or a daemon ended, or why a daemon was not started. */
struct attempt_tool {
    unsigned host;
    const char *host_name;
    const char *name; /* "orted" */
    int code;
    int signal; /* that killed it; 0: none did */
    enum rank_memory memory;
    int64_t time;        /* the master's clock */
    const char *refusal; /* why it was not started; "" if it was started */
};

/* The sender of a refused request is unknown: it may be a stranger. So the first failure stays
 * recorded, and the last refusal. A tool that was killed by a signal is the cause of those that
 * ended for lack of it. */
enum attempt_note {
    ATTEMPT_NOTE_NOTHING, /* it followed from the cause, or was a good end */
    ATTEMPT_NOTE_REFUSAL,
    ATTEMPT_NOTE_FAILURE,
};
enum attempt_note attempt_note_tool(struct attempt *a, const struct attempt_tool *t);
/* Records that HOST could not start its ranks itself, and why. It counts only if nothing else
 * explains it. */
enum attempt_note attempt_note_unstarted(struct attempt *a, unsigned host, const char *host_name,
                                         const char *why, int64_t time);
/* Records that not all ranks had started SECONDS after the launch; TIME is on the master's clock.
 * It counts only if nothing else explains it. */
enum attempt_note attempt_note_overdue(struct attempt *a, const char *host_name, int64_t seconds,
                                       int64_t time);

/* Records the first failure; returns false if there was one. From then on reports are collected,
 * until ... */
bool attempt_fail(struct attempt *a);
/* ... the remaining ranks get the order to end. */
void attempt_end_ranks(struct attempt *a);
void attempt_begin_end(struct attempt *a);

void attempt_stop(struct attempt *a, size_t host, int64_t now);
/* Records a stop while the attempt is ending: it prevents another attempt. */
void attempt_stop_late(struct attempt *a, size_t host, int64_t now);
/* Returns when the time of a stop began, a late one's included. */
int64_t attempt_stop_began(const struct attempt *a);
/* Returns false if the stop has been sent already. */
bool attempt_send_stop(struct attempt *a);
/* Records the signal that ranks are sent: the stop's, or the one that warns of the end. The latter
 * returns false if they have been warned already. */
void attempt_stop_signal(struct attempt *a, int number);
bool attempt_warn(struct attempt *a, int number);
void attempt_kill(struct attempt *a, int64_t now);

/* Returns true if shims that have reported must stay until all have. During a stop the other ranks
 * may be writing a checkpoint, and mpirun begins to end them as soon as one shim exits. */
bool attempt_holds(const struct attempt *a);
/* Returns the furthest step that a rank reported, at its end or while it ran; 0 if none did. */
uint64_t attempt_step(const struct attempt *a);
bool attempt_all_started(const struct attempt *a);
/* Returns true if every rank has reported, except those of lost hosts. */
bool attempt_is_complete(const struct attempt *a);

/* Returns true if HOST has ranks that have not reported. */
bool attempt_misses(const struct attempt *a, size_t host);
/* Returns true if something has failed or the ranks were killed, so that missing reports are no
 * news. */
bool attempt_knows_why(const struct attempt *a);

/* Fills in the input of verdict_judge(). MPIRUN_WORDS may be NULL. FACTS borrows from A, CLUSTER
 * and the caller. */
void attempt_facts(const struct attempt *a, const struct cluster *cluster, const char *mpirun_words,
                   struct verdict_facts *ret);

#endif
