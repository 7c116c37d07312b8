/* One launch and all that is known of it: who has started, how ranks ended, which hosts were lost,
 * what was asked for. Judged once, then forgotten as a whole. Only the functions here write it.
 * Pure: no loop, no socket, times are handed in (clock_boot() of the master, ns; 0: never). */
#ifndef ENTRYPOINT_MASTER_ATTEMPT_H
#define ENTRYPOINT_MASTER_ATTEMPT_H

#include "common/error.h"
#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/outcome/rank_report.h"
#include "entrypoint/outcome/straggler.h"
#include "entrypoint/outcome/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTEMPT_NOTE_SIZE = 256, ATTEMPT_STALLED_MAX = 16 };

struct attempt {
    unsigned number; /* from 1; words of hosts about another one count for nothing */
    size_t ranks;
    size_t hosts;
    unsigned *rank_host; /* by rank: the host that it was placed on */
    bool *seated;        /* by rank */
    bool *reported;      /* by rank */
    char **quiet; /* by rank: it prints nothing and does nothing, and what its threads wait in;
                     NULL: it is busy; owned */
    struct straggler straggler; /* of those that show progress */
    bool *lost;                 /* by host */
    size_t seated_count;
    struct rank_report *reports; /* in the order in which they came, at most one a rank */
    size_t report_count;
    struct verdict_loss *losses;
    size_t loss_count;
    int64_t launched; /* clock_now() */
    int mpirun_code;
    bool mpirun_ended;
    struct verdict_tool tool; /* mpirun or the first daemon that ended though nobody asked */
    char tool_note[ATTEMPT_NOTE_SIZE]; /* in words; or of the last daemon that was refused */
    bool note_is_refusal;
    bool failed;    /* something has */
    bool gathering; /* the first failure is known, others may have come before it */
    bool ending;    /* it will be judged, whatever comes */
    int64_t stalled;
    unsigned stalled_rank;
    unsigned stalled_host;
    unsigned stalled_count; /* of ranks, the first included */
    char
        stalled_states[RANK_REPORT_EVIDENCE_SIZE]; /* what their threads waited in, a line a rank */
    int64_t dropped; /* when Open MPI first said that it drops a rank's connections */
    unsigned dropped_rank;
    struct net_address dropped_source;
    int64_t stop_asked;
    unsigned stop_host;
    bool stop_sent;
    int64_t stop_late; /* the first that came while a failure was being looked into */
    int64_t killed;    /* when the budget of the stop was over */
};

/* Number NUMBER, of the hosts of CLUSTER that are not gone. *A must be zeroed or done with. */
int attempt_open(struct attempt *a, unsigned number, const struct cluster *cluster,
                 struct error *err);
void attempt_done(struct attempt *a);
/* Nothing stays but its number plus one. */
void attempt_forget(struct attempt *a);

/* A rank is the host's on which it was placed: no other one has a word about it. */
bool attempt_is_rank_of(const struct attempt *a, size_t host, int64_t rank);

void attempt_launched(struct attempt *a, int64_t now);
/* True when that was the last seat. Another host's rank, or one that has its seat, is nobody. */
bool attempt_seat(struct attempt *a, size_t host, int64_t rank);
/* The rank is r->host's. Of two reports about one rank a failure counts more than an end that was
 * good; false where R changes nothing. */
bool attempt_report(struct attempt *a, const struct rank_report *r);
void attempt_lose(struct attempt *a, size_t host, int64_t now, const char *why);
/* The first one is the failure; what the threads of others wait in shows whether they waited for
 * it. STATES is the line about it. Of another host's rank, and of more than ATTEMPT_STALLED_MAX,
 * nothing is noted. */
enum attempt_stall { ATTEMPT_STALL_NOTHING, ATTEMPT_STALL_LATER, ATTEMPT_STALL_FIRST };
enum attempt_stall attempt_stall(struct attempt *a, size_t host, int64_t rank, const char *states,
                                 int64_t now);
/* That Open MPI drops the connections of RANK, as they come from SOURCE. True for the first such
 * rank, which is a failure; a rank that there is not changes nothing. */
bool attempt_drop(struct attempt *a, int64_t rank, const struct net_address *source, int64_t now);
/* That a rank is quiet, and what its threads wait in ("" where that is not known), or, with NULL,
 * no longer so; another host's rank is left alone. */
void attempt_quiet(struct attempt *a, size_t host, int64_t rank, const char *states);
/* The first of the ranks that have not ended, where all of them are quiet: nobody is left for whom
 * they could wait. -1 where somebody is, or all have ended. */
int64_t attempt_all_quiet(const struct attempt *a);
/* How far a rank is; another host's is left alone. */
void attempt_pace(struct attempt *a, size_t host, int64_t rank,
                  const struct straggler_point *point);
/* To be called every few seconds: true when a rank is found for whom the others wait. */
bool attempt_find_slow(struct attempt *a, int64_t now, struct straggler_finding *ret);
void attempt_mpirun_ended(struct attempt *a, int code);

/* The end of mpirun or of a daemon, or that a daemon was not started. */
struct attempt_tool {
    unsigned host;
    const char *host_name;
    const char *name; /* "orted" */
    int code;
    int signal; /* that killed it; 0: none did */
    enum rank_memory memory;
    int64_t time;        /* the master's clock */
    const char *refusal; /* why it was not started; "": it was */
};

/* Who asked for what was refused is not known: the request may be a stranger's. So the first
 * failure stays noted, of refusals the last; but one that a signal killed is the cause of those
 * that left for lack of it. */
enum attempt_note {
    ATTEMPT_NOTE_NOTHING, /* it comes after the cause, or was a good end */
    ATTEMPT_NOTE_REFUSAL,
    ATTEMPT_NOTE_FAILURE,
};
enum attempt_note attempt_note_tool(struct attempt *a, const struct attempt_tool *t);
/* That not all ranks have started SECONDS after the launch, at TIME on the master's clock, where
 * nothing else explains it. */
enum attempt_note attempt_note_overdue(struct attempt *a, const char *host_name, int64_t seconds,
                                       int64_t time);

/* The first failure; false where there was one. From then on reports are gathered, until... */
bool attempt_fail(struct attempt *a);
/* ... the ranks that are left are told to end. */
void attempt_end_ranks(struct attempt *a);
void attempt_begin_end(struct attempt *a);

void attempt_stop(struct attempt *a, size_t host, int64_t now);
/* It is ending already, but another one might follow. */
void attempt_stop_late(struct attempt *a, size_t host, int64_t now);
/* Since when the time of a stop runs, a late one's, too. */
int64_t attempt_stop_began(const struct attempt *a);
/* False where it has been. */
bool attempt_send_stop(struct attempt *a);
void attempt_kill(struct attempt *a, int64_t now);

/* While a stop runs, shims that have reported stay until all have: the other ranks may be at work
 * on a checkpoint, and mpirun begins to end them when one leaves. */
bool attempt_holds(const struct attempt *a);
/* The furthest step that a rank told, with its report or while it ran; 0: none did. */
uint64_t attempt_step(const struct attempt *a);
bool attempt_is_seated(const struct attempt *a);
/* No report is missing but those of hosts that are lost. */
bool attempt_is_complete(const struct attempt *a);

/* Whether the host has ranks that have not reported. */
bool attempt_misses(const struct attempt *a, size_t host);
/* Something has gone wrong, or its ranks were killed: reports that are missing are no news. */
bool attempt_knows_why(const struct attempt *a);

/* For verdict_judge; MPIRUN_WORDS may be NULL. What FACTS points to is A's, CLUSTER's and the
 * caller's. */
void attempt_facts(const struct attempt *a, const struct cluster *cluster, const char *mpirun_words,
                   struct verdict_facts *ret);

#endif
