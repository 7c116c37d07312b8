/* The supervisor of the first host, which runs the job for all: gathers the hosts (join.c), keeps
 * watch over them (lease.c), starts mpirun (launch.c), passes stops on (stop.c), gathers how the
 * ranks ended and judges (collect.c), and tries again where that may help (relaunch.c). Its own
 * host is member 0 and is told and heard like the others, through a post instead of a link. */
#ifndef MASTER_MASTER_H
#define MASTER_MASTER_H

#include "common/error.h"
#include "host/facts.h"
#include "host/supervisor.h"
#include "job/job.h"
#include "master/strangers.h"
#include "mpi/banner.h"
#include "os/task.h"
#include "outcome/rank_report.h"
#include "outcome/verdict.h"
#include "wire/door.h"
#include "wire/post.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum master_phase {
    MASTER_JOINING,
    MASTER_RUNNING,  /* mpirun has been started */
    MASTER_CLEARING, /* an attempt has failed; its processes are ended for the next one */
    MASTER_JUDGED,
};

struct master;

/* One launch and all that is gathered about it: judged once, then forgotten. */
struct attempt {
    unsigned number; /* from 1; words of hosts about another one count for nothing */
    /* lease.c */
    struct verdict_loss *losses;
    size_t loss_count;
    /* launch.c */
    struct task mpirun;
    struct banner banner; /* its first lines; task.tail has the last */
    int mpirun_code;
    bool mpirun_ended;
    char daemon_note[256]; /* the first daemon that failed, or the last that was refused: how */
    bool note_is_refusal;
    bool agent_warned; /* of an agent that was refused */
    int64_t launched;
    /* collect.c */
    struct rank_report *reports; /* in the order in which they came */
    size_t report_count;
    bool *reported; /* by rank */
    bool *seated;
    size_t seated_count;
    size_t ranks;
    struct timer collect; /* then it is judged with what is there */
    struct timer end;     /* of the ranks that a failure has left */
    bool failed;
    bool gathering; /* the first failure is known, others may have come before it */
    int64_t stalled;
    unsigned stalled_rank;
    unsigned stalled_host;
    /* stop.c */
    struct timer budget; /* of a stop: then SIGKILL */
    struct timer hold;   /* of a stop that waits for ranks to take their seats */
    int64_t stop_asked;  /* clock_boot(); 0: never */
    unsigned stop_host;
    bool stop_sent;
    bool stop_late; /* one came while a failure was being looked into */
    bool killed;
};

struct member {
    struct master *master;
    size_t index;
    struct link *link;  /* NULL: not there (always for member 0) */
    struct link *agent; /* mpirun's agent for this host, while its daemon runs */
    bool joined;
    bool lost;        /* for good: it is not taken back */
    unsigned cleared; /* the last attempt that it said to be ready for */
    struct in_addr address;
    struct facts facts;
    struct buf line; /* of a forwarded one, the parts that are here */
    int64_t heard;   /* when, by clock_now() */
    int64_t trip;    /* shortest round trip of a heartbeat so far; 0: none yet */
    int64_t offset;  /* its clock_boot() less ours, by that heartbeat */
    int64_t skew;    /* its wall clock less ours when it joined */
};

struct master {
    struct supervisor s;
    enum master_phase phase;
    bool check;             /* `ringmaster check`: a table instead of a launch */
    struct member *members; /* one a host of the cluster */
    size_t joined;
    struct door door;
    struct post to_self;   /* orders to our own host */
    struct post from_self; /* its words */
    /* join.c */
    struct timer ready_deadline;
    struct timer announce;
    struct error fault; /* the first one that a host reported; code 0: none */
    int fault_host;
    struct strangers strangers;
    /* lease.c */
    struct timer beat;
    struct timer lease;
    struct attempt attempt; /* launch.c, collect.c, stop.c */
    /* relaunch.c */
    struct verdict failed; /* what the attempt before came to, while hosts are cleared */
    struct timer pause;    /* before the next launch */
    struct timer clear_deadline;
};

int master_run(const struct supervisor_options *options, int *ret_code, struct error *err);

/* An order to one host or to all that are there. Take over the reference. */
void master_send(struct master *m, size_t host, json_t *message);
void master_send_all(struct master *m, json_t *message);
/* Writes at once what the links take. */
void master_flush(struct master *m);

/* Of the links of members that have joined; the context is the member. */
extern const struct link_events master_member_events;

/* --- join.c --- */
/* Before all else: a stop may come before join_open. */
void join_init(struct master *m);
int join_open(struct master *m, struct error *err);
void join_close(struct master *m);
/* A fault of ours or of a host: all hosts are still given time to join, so that they hear of it. */
void join_fault(struct master *m, const struct error *fault, int host);
/* The link of a member ended before the launch. */
void join_left(struct member *b);

/* --- lease.c --- */
void lease_open(struct master *m);
void lease_close(struct master *m);
void lease_heard(struct member *b);
/* It was heard of so lately that it is there: no other one can be it. */
bool lease_is_fresh(const struct member *b);
void lease_alive(struct member *b, const json_t *message);
/* The host is lost to the running job. */
void lease_lost(struct member *b, const char *why);

/* --- launch.c --- */
int launch_begin(struct master *m, struct error *err);
void launch_agent(struct master *m, struct link *link, const json_t *message);
void launch_signal(struct master *m, int number);
/* What mpirun said first and last, with the hosts' names. */
void launch_words(const struct master *m, struct buf *ret);
/* Lets the agent of a host leave with CODE. */
void launch_agent_leave(struct member *b, int code);
void launch_daemon_ended(struct member *b, const json_t *message);
void launch_close(struct master *m);

/* --- collect.c --- */
int collect_open(struct master *m, struct error *err);
void collect_close(struct master *m);
void collect_seated(struct member *b, const json_t *message);
void collect_report(struct member *b, const json_t *message);
void collect_host_lost(struct master *m);
void collect_stalled(struct member *b, const json_t *message);
/* The attempt has failed: what else is reported within 300 ms is heard, then the ranks are ended
 * and it is judged. */
void collect_failed(struct master *m);
/* Something has ended the job: judge within NANOSECONDS, unless that is due sooner already. */
void collect_begin(struct master *m, int64_t nanoseconds);
void collect_mpirun_ended(struct master *m);
/* Lets all shims go that have reported. */
void collect_release_all(struct master *m);
void collect_judge(struct master *m);
/* The job's verdict is known: tells everybody. */
void collect_conclude(struct master *m, const struct verdict *verdict);

/* --- relaunch.c --- */
void relaunch_init(struct master *m);
void relaunch_close(struct master *m);
/* An attempt has come to VERDICT: another one follows, or that is the job's. */
void relaunch_weigh(struct master *m, const struct verdict *verdict);
/* A host has ended everything and is ready, or says why it is not. */
void relaunch_cleared(struct member *b, const json_t *message);
/* Between two attempts: a host was lost; a stop was asked for. */
void relaunch_lost(struct member *b, const char *why);
void relaunch_stopped(struct master *m, size_t host);

/* --- stop.c --- */
void stop_asked(struct master *m, size_t host, bool again);
/* All ranks have taken their seats: a stop that waited for that goes out. */
void stop_seats_taken(struct master *m);
/* While a stop runs, shims that have reported stay until all have. */
bool stop_holds(const struct master *m);
void stop_close(struct master *m);

#endif
