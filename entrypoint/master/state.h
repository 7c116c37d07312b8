/* All that the master knows: its hosts, the attempt that runs, and what each of its parts keeps for
 * itself. The parts (join, lease, launch, collect, stop, relaunch ...) read what they like, and
 * tell what happens by raising an event (phase.h). What follows from it is the table's affair: none
 * of them launches, judges or ends anything because of another one.
 *
 * What they call of each other goes one way. Who comes is taken by the doorway and handed on: to
 * namesake, gather, comeback, inquiry or join. Those write what join has of that host; gather asks
 * comeback who of those that wait can be taken in, and all ask lease who is heard. How long a stop
 * may take uploads says, to stop. */
#ifndef ENTRYPOINT_MASTER_STATE_H
#define ENTRYPOINT_MASTER_STATE_H

#include "common/buf.h"
#include "common/error.h"
#include "common/net_address.h"
#include "common/run_id.h"
#include "entrypoint/host/preflight/host_info.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/master/attempt.h"
#include "entrypoint/master/phase.h"
#include "entrypoint/master/rejected_peers.h"
#include "entrypoint/mpi/dropped.h"
#include "entrypoint/mpi/mpi_error_text.h"
#include "entrypoint/mpi/mpirun_banner.h"
#include "entrypoint/os/boot_timer.h"
#include "entrypoint/os/subprocess.h"
#include "entrypoint/outcome/verdict.h"
#include "entrypoint/wire/dial.h"
#include "entrypoint/wire/listener.h"
#include "entrypoint/wire/message_queue.h"
#include "entrypoint/wire/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct master;

struct member {
    struct master *master;
    size_t index;
    struct link *link;  /* NULL: not there (always for member 0) */
    struct link *agent; /* mpirun's agent for this host, while its daemon runs */
    struct {
        bool came;     /* once */
        bool busy;     /* it is there and fetches what it needs */
        bool informed; /* where the host is that it asks */
        struct fetch_progress mark;
        int64_t since; /* its last step forward */
    } fetching;
    json_t *pending_join; /* owned; its join, which waits until this host has what it needs, or
                     until the next attempt; or NULL */
    bool joined;
    bool lost;        /* to the attempt, and to all later ones that do not take it back */
    bool is_standby;  /* it has come while the job runs; its link counts for nothing else */
    bool uncounted;   /* it was taken back: nobody counts it before all have taken the roll */
    bool uploaded;    /* or it said why not */
    bool informed;    /* it has acknowledged the verdict */
    unsigned cleared; /* the last attempt that it said to be ready for */
    unsigned begun;   /* the last one whose roll it has taken */
    int64_t last_ack; /* when the last heartbeat that it has answered was sent, clock_boot() */
    bool probed;      /* it has done the step of host/shared_dir_probe.h */
    char word[SHARED_DIR_PROBE_WORD_SIZE]; /* that it has written */
    struct net_address address;            /* where its connection came from */
    struct net_address sends;              /* what it says to have sent from; unset: nothing else */
    struct host_info facts;
    struct buf line;       /* of a forwarded one, the parts that are here */
    int64_t heard;         /* when, by clock_now() */
    int64_t claimed;       /* since when a process at its address has been asking for its place */
    int64_t claimed_last;  /* and when it last did; 0: never */
    bool doubted;          /* unheard for a lease: its words may lie here unread */
    int64_t trip;          /* shortest round trip of a heartbeat so far; 0: none yet */
    int64_t offset;        /* its clock_boot() less ours, by that heartbeat */
    int64_t skew;          /* its wall clock less ours when its join came */
    struct error *fault;   /* owned; in a check, what is wrong with it; NULL: nothing */
    uint16_t examine_port; /* in a check, where it is dialled; 0: nowhere */
};

/* What has happened, and to whom. */
struct raised {
    enum phase_event event;
    struct member *member; /* NULL: to nobody in particular */
    const char *why;       /* of a host that is gone or unfit; else NULL */
    const json_t *word;    /* of a host that has come: what it said; else NULL */
};

/* What a host has told in a check. */
struct examined {
    json_t *found; /* owned; NULL: nothing yet */
    bool asked;
};

/* Who else has the first host's name (duplicate_name.h). Zeroed it looks for nobody, and has found
 * nobody.
 */
struct duplicate_name {
    bool pending;                /* the first look is not over: no host is taken in */
    bool self;                   /* whoever was reached is this process */
    bool misresolved;            /* the name does not lead to this host */
    int64_t began;               /* clock_wall(): who came first, where both look */
    char life[ATTEMPT_RUN_SIZE]; /* unlike any other process's */
    struct resolve resolve;
    struct timer deadline; /* of a look */
    struct timer again;
    struct net_address addresses[RESOLVE_MAX];
    size_t count;
    size_t next;
    struct link *link;
};

struct master {
    struct supervisor s;
    enum phase phase;       /* written by raise() alone */
    bool check;             /* `ringmaster check`: rows instead of a launch */
    bool json;              /* and as JSON */
    struct member *members; /* one a host of the cluster */
    struct attempt attempt;
    unsigned first;                 /* of this host as a master: the number of its first attempt */
    struct message_queue to_self;   /* orders to our own host */
    struct message_queue from_self; /* its words */
    /* Does what the table says. The attempt may be another one afterwards, or none: who raises goes
     * no further with it. */
    void (*raise)(struct master *m, const struct raised *raised);
    struct error fault; /* that makes a job impossible; the first one counts. Code 0: none */
    int fault_host;
    struct verdict verdict; /* the job's, once it has ended */
    struct verdict failed;  /* what the attempt before came to, while hosts are cleared */
    struct {
        bool open;
        struct listener listener;
        struct rejected_peers rejected_peers;
        const struct link_events *events; /* of members */
    } accept;
    struct duplicate_name duplicate_name;
    struct {
        bool begun; /* this host has all that it needs, or a fault: others are admitted */
        size_t count;
        struct timer deadline;
        struct timer announce;
    } join;
    struct {
        struct timer turn; /* then it asks once more, or goes on to the next host */
        struct dial dial;
        struct link *link; /* to the host that was reached, until it has answered */
        size_t host;       /* that is asked; 0: none was */
        bool same;         /* it is asked again */
        unsigned asked;    /* questions so far */
        size_t leader;     /* who said that the job goes on there; 0: nobody */
    } leader_query;
    struct {
        struct examined *hosts; /* owned, one a host; NULL where this is no check */
        struct timer deadline;
    } preflight;
    struct {
        struct timer beat;
        struct timer look;
        bool doubts;           /* a second look follows: what lies here is to be read until then */
        struct boot_timer out; /* of a master that may be followed: it may act no longer */
        int64_t last_loss;     /* when the last host was lost, clock_now(); 0: none was */
        int64_t asked;         /* clock_boot(): all hosts, for lease_is_sure(); 0: they were not */
    } lease;
    struct {
        struct timer look;
    } stragglers;
    struct {
        enum shared_dir_probe_step step;
        struct timer deadline; /* of a step */
        int64_t asked;         /* clock_boot() */
    } shared_dir;
    struct {
        struct timer look;
        int64_t opened; /* clock_boot() */
        int64_t heard;  /* the last heartbeat that any host here has answered, likewise */
    } takeover;
    struct {
        struct subprocess mpirun;
        struct mpirun_banner banner; /* its first lines; mpirun.tail has the last */
        struct mpi_error_text mpi_error;
        struct dropped dropped;
        bool agent_warned; /* of one that was refused */
        struct timer overdue;
        bool given_up; /* not all ranks had started in time */
    } launch;
    struct {
        struct timer deadline; /* then it is judged with what is there */
        struct timer end;      /* of the ranks that a failure has left */
        int64_t mpirun_ended;  /* clock_boot(); 0: it has not */
        bool doubted;          /* a host was silent at the deadline, or this one stood still */
        bool looked;           /* it has passed once without that */
    } collect;
    struct {
        struct timer budget; /* then SIGKILL */
        struct timer hold;   /* of a stop that waits for ranks to take their seats */
    } stop;
    struct {
        int64_t wait;                     /* before the next launch, ns */
        struct restart_progress progress; /* of all attempts so far, also under other masters */
        struct timer pause;               /* the same, running */
        struct timer deadline;
    } relaunch;
    struct {
        struct timer deadline;
        struct error fault; /* the first; code 0: none */
        int fault_host;
    } uploads;
};

/* An order to one host or to all that are there. Take over the reference. */
void master_send(struct master *m, size_t host, json_t *message);
void master_send_all(struct master *m, json_t *message);
/* Writes at once what the links take. */
void master_flush(struct master *m);

/* A name that nothing else has. */
int master_draw_name(char ret[ATTEMPT_RUN_SIZE], struct error *err);

/* The last word to who may not join, in VERSION; frees the link. */
void master_refuse(struct link *link, int64_t version, const struct error *why);

void master_raise(struct master *m, enum phase_event event);
void master_raise_about(struct member *b, enum phase_event event, const char *why);
void master_raise_word(struct member *b, enum phase_event event, const json_t *word);

/* There was a word of it. */
void member_heard(struct member *b);
/* And so lately that it is there: no other one can be it. */
bool member_is_fresh(const struct member *b);
/* Whether a process at PEER that asks for this member's place, now, is another host with the same
 * name. At another address it is. At the same one it may be the member itself, killed without a
 * goodbye and started anew: they are two only if the member is heard while the other one asks. */
bool member_is_duplicate(struct member *b, const struct net_address *peer);

static inline bool member_is_standby(const struct member *b) {
    return b->is_standby && b->link != NULL;
}

const char *member_name(const struct member *b);
size_t master_hosts_left(const struct master *m);

#endif
