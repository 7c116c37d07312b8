/* State of the master: its hosts, the current attempt, and the state of each of its parts.
 *
 * The parts (join, lease, launch, reports, stop, relaunch ...) may read everything. They raise an
 * event for what happens (phase.h) and leave the consequences to the table: no part launches,
 * judges or ends anything because of another part.
 *
 * Calls between them go one way. accept takes connections and hands them to duplicate_name,
 * takeover, rejoin, leader_query or join. Those write what join keeps of a host; takeover asks
 * rejoin which waiting hosts can be readmitted, and all ask lease which hosts answer. uploads tells
 * stop how long a stop may take. */
#ifndef ENTRYPOINT_MASTER_STATE_STATE_H
#define ENTRYPOINT_MASTER_STATE_STATE_H

#include "common/buf.h"
#include "common/error.h"
#include "common/net_address.h"
#include "common/run_id.h"
#include "entrypoint/direct/pmi_space.h"
#include "entrypoint/evidence/ras_answer.h"
#include "entrypoint/evidence/standstill.h"
#include "entrypoint/evidence/stuck.h"
#include "entrypoint/host/preflight/host_info.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/master/state/attempt.h"
#include "entrypoint/master/state/phase.h"
#include "entrypoint/master/state/rejected_peers.h"
#include "entrypoint/mpi/dropped.h"
#include "entrypoint/mpi/mpi_error_text.h"
#include "entrypoint/mpi/mpirun_banner.h"
#include "entrypoint/os/boot_timer.h"
#include "entrypoint/os/subprocess.h"
#include "entrypoint/outcome/goodput.h"
#include "entrypoint/outcome/verdict.h"
#include "entrypoint/wire/dial.h"
#include "entrypoint/wire/listener.h"
#include "entrypoint/wire/message_queue.h"
#include "entrypoint/wire/resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No rank, and not even a finding (standing.h). */
enum { STANDING_NOBODY = -2 };

struct launch_way;
struct master;

/* What a host says of its downloads. */
struct member_fetching {
    bool came;     /* at least once */
    bool busy;     /* it is connected and downloads */
    bool informed; /* has the address of its upstream host */
    struct fetch_progress mark;
    int64_t since; /* its last progress */
};

/* A host's last word on progress (standing.h). */
struct member_standing {
    int64_t heard; /* clock_now(); 0: not in this attempt */
    int64_t still; /* ns since a sign of any of its ranks, then; -1: none runs */
    bool busy;
};

struct member {
    struct master *master;
    size_t index;
    struct link *link;  /* NULL: not connected (always for member 0) */
    struct link *agent; /* mpirun's agent for this host, while its daemon runs */
    struct member_fetching fetching;
    json_t *pending_join; /* owned; a join that waits until this host has what it needs, or until
                             the next attempt; or NULL */
    bool joined;
    bool unresolved; /* while it is missing: the last lookup of its name found no address */
    bool lost;       /* to this attempt and to all later ones that do not readmit it */
    bool is_standby; /* it connected while the job runs; its link counts for nothing else */
    bool is_pid1;    /* of its container: its end is that of all processes there */
    bool exited;     /* and the link has ended by it */
    struct seen_exit saw_exit; /* what it knows of the end of the master before this one */
    bool uncounted; /* it was readmitted: does not count before all hosts have accepted the view */
    bool uploaded;  /* or reported why not */
    bool informed;  /* it has acknowledged the verdict */
    unsigned cleared; /* the last attempt that it reported to be ready for */
    unsigned begun;   /* the last attempt with a view that it has accepted */
    int64_t last_ack; /* when the last heartbeat that it has answered was sent, clock_boot() */
    bool in_barrier;  /* of PMI (pmi_exchange.h) */
    bool probed;      /* it has done the current step of host/failover/shared_dir_probe.h */
    char word[SHARED_DIR_PROBE_WORD_SIZE]; /* in the file that it has written */
    struct net_address address;            /* the source of its connection, as seen here */
    struct net_address sends;              /* its own view of that; unset: the same */
    struct host_info info;
    struct buf line; /* parts of a forwarded line */
    int64_t heard;   /* when it was last heard, clock_now() */
    struct member_standing standing;
    bool gathers;          /* evidence, and has not answered */
    int64_t claimed;       /* since when a process at its address has been claiming its place */
    int64_t claimed_last;  /* when it last did; 0: never */
    bool doubted;          /* silent for a lease: its messages may be unread here */
    int64_t trip;          /* shortest round trip of a heartbeat so far; 0: none yet */
    int64_t offset;        /* its clock_boot() less ours, by that heartbeat */
    int64_t skew;          /* its wall clock less ours when its join came */
    struct error *fault;   /* owned; in a check, what is wrong with it; NULL: nothing */
    uint16_t examine_port; /* in a check, the port for measurements; 0: none */
};

/* Lookup of the names of missing hosts (name_lookup.h). */
enum { NAME_LOOKUP_BESIDE = 16 };
struct name_lookup_slot {
    struct name_lookup *turn;
    struct resolve resolve;
    size_t host; /* that is looked up; 0: none */
};
struct name_lookup {
    struct master *master;
    struct name_lookup_slot slots[NAME_LOOKUP_BESIDE];
    bool begun;                           /* a turn is under way */
    size_t next;                          /* host of the next lookup */
    size_t running;                       /* lookups */
    size_t unresolved;                    /* names that were found not to resolve in this turn */
    char names[8 * (HOST_NAME_SIZE + 2)]; /* the first of them */
    int64_t deadline;                     /* no lookup starts after it, clock_now() */
};

/* An event, and the host that it concerns. */
struct raised {
    enum phase_event event;
    struct member *member; /* NULL: no host in particular */
    const char *why;       /* the reason, if a host is gone or not ready; else NULL */
    const json_t *word;    /* the first message of a host that has connected; else NULL */
};

/* Findings of a host in a check. */
struct examined {
    json_t *found; /* owned; NULL: nothing yet */
    bool asked;
};

/* Search for another host with the first host's name (duplicate_name.h). Zeroed, it searches for
 * nothing and has found nothing. */
struct duplicate_name {
    bool pending;                /* the first lookup is not over: no host is admitted */
    bool self;                   /* the peer is this process itself */
    bool misresolved;            /* the name does not lead to this host */
    int64_t began;               /* clock_wall(): decides which host was first if both search */
    char life[ATTEMPT_RUN_SIZE]; /* unique to this process */
    struct resolve resolve;
    struct timer deadline; /* of a lookup */
    struct timer again;
    struct net_address addresses[RESOLVE_MAX];
    size_t count;
    size_t next;
    struct link *link;
};

/* Connections of hosts (accept.h). */
struct master_accept {
    bool open;
    struct listener listener;
    struct rejected_peers rejected_peers;
    const struct link_events *events; /* of members */
};

/* Hosts that the job waits for at its beginning (join.h). */
struct master_join {
    bool begun; /* this host has everything that it needs, or a fault: others are admitted */
    size_t count;
    struct timer deadline;
    struct timer announce;
};

/* Search for a host that leads the job already (leader_query.h). */
struct master_leader_query {
    struct timer turn; /* then it asks again or goes to the next host */
    struct dial dial;
    struct link *link; /* to the host that is asked, until it has answered */
    size_t host;       /* the host that is asked; 0: none */
    bool same;         /* it is asked again */
    unsigned asked;    /* questions so far */
    size_t leader;     /* the host that leads the job; 0: unknown */
};

/* Orders of a check, and their deadline (preflight.h). */
struct master_preflight {
    struct examined *hosts; /* owned, one a host; NULL where this is no check */
    struct timer deadline;
};

/* Heartbeats, and how long this host may lead without answers (lease.h). */
struct master_lease {
    struct timer beat;
    struct timer look;
    bool doubts;           /* a second check follows; queued messages are read first */
    struct boot_timer out; /* with failover: then this master may act no longer */
    int64_t fence;         /* before, something of a lost host may still run, clock_boot() */
    int64_t asked; /* when all hosts were asked, for lease_is_sure(), clock_boot(); 0: they were
                      not */
};

/* Search for ranks slower than the others (stragglers.h). */
struct master_stragglers {
    struct timer look;
};

/* Questions to all hosts about ranks that make no progress (standing.h). */
struct master_standing {
    struct timer look;
    struct timer deadline; /* for answers */
    struct standstill rule;
    struct stuck_rank *ranks; /* owned; NULL: nothing is asked for */
    int64_t number;           /* of the last question */
    size_t waiting;           /* hosts that have not answered it */
    int rank;                 /* the one that the others wait for; STANDING_NOBODY */
    int64_t crash;            /* the question at the first failure; 0: none */
    bool fails;               /* the answer ends the attempt */
    bool is_reported;         /* NCCL says what stands still (ras_child.h) */
    struct subprocess ras;    /* asks it */
    /* What it says, while hosts are asked for the ranks of its processes (ras_finding.h). */
    json_t *ras_found; /* owned; NULL: nothing is asked about */
    struct timer ras_deadline;
    int64_t ras_number;                   /* of the last question */
    size_t ras_waiting;                   /* hosts that have not answered it */
    int64_t ras_ranks[RAS_PROCESSES_MAX]; /* of its processes; -1: not known */
};

/* Test that all hosts see the same shared folder (shared_dir.h). */
struct master_shared_dir {
    enum shared_dir_probe_step step;
    struct timer deadline; /* of a step */
    int64_t asked;         /* clock_boot() */
};

/* Takeover of the job from a lost master (takeover.h). */
struct master_takeover {
    struct timer look;
    int64_t opened; /* clock_boot() */
    int64_t heard;  /* the last heartbeat that any host here has answered, clock_boot() */
};

/* Start of the attempt's ranks (launch.h). */
struct master_launch {
    const struct launch_way *way; /* how this attempt was launched; NULL: it was not yet */
    struct subprocess mpirun;
    struct mpirun_banner banner; /* its first lines; the last are in mpirun.tail */
    struct mpi_error_text mpi_error;
    struct dropped dropped;
    bool agent_warned; /* a warning about a refused one was logged */
    struct timer overdue;
    bool given_up; /* not all ranks had started in time */
};

/* Barrier of PMI (pmi_exchange.h). */
struct master_pmi {
    struct pmi_space fresh; /* what ranks have put since the last barrier */
    struct timer deadline;  /* of the barrier */
};

/* End of an attempt, until its verdict (reports.h). */
struct master_collect {
    struct timer deadline; /* then the attempt is judged with the reports at hand */
    struct timer end;      /* of the ranks that are left after a failure */
    int64_t began;         /* when the end of the attempt did, clock_boot(); 0: it has not */
    int64_t mpirun_ended;  /* clock_boot(); 0: it has not */
    bool doubted;          /* a host was silent at the deadline, or this one was paused */
    bool looked;           /* the deadline has passed once without that */
};

/* Stop of the job or of an attempt (stop.h). */
struct master_stop {
    struct timer budget; /* then SIGKILL */
    struct timer hold;   /* of a stop that waits for ranks to start */
    struct timer end;    /* then ranks are warned of the platform's end of the job */
    struct timer warned; /* then ranks that a stop has warned get the stop signal */
};

/* Wait between two attempts (relaunch.h). */
struct master_relaunch {
    int64_t wait;                     /* before the next launch, ns */
    struct restart_progress progress; /* of all attempts so far, under earlier masters included */
    struct timer pause;               /* the timer of that wait */
    struct timer deadline;
};

/* Uploads of all hosts after the job's end (uploads.h). */
struct master_uploads {
    struct timer deadline;
    struct error fault; /* the first; code 0: none */
    int fault_host;
};

struct master {
    struct supervisor s;
    enum phase phase;        /* written by raise() alone */
    enum phase phase_before; /* before the last transition */
    bool check;              /* `ringmaster check`: rows instead of a launch */
    bool json;               /* and as JSON */
    struct member *members;  /* one a host of the cluster */
    struct attempt attempt;
    unsigned first;                 /* the number of this host's first attempt as a master */
    struct message_queue to_self;   /* orders to this host */
    struct message_queue from_self; /* messages from it */
    /* Acts on an event as the table says. Afterwards the attempt may be another one or none: the
     * caller must not continue with it. */
    void (*raise)(struct master *m, const struct raised *raised);
    struct error fault; /* makes the job impossible; the first one counts. Code 0: none */
    int fault_host;
    struct verdict verdict; /* the job's, once it has ended */
    struct verdict failed;  /* of the attempt before, during the cleanup */
    struct goodput goodput; /* of the whole job */
    struct master_accept accept;
    struct duplicate_name duplicate_name;
    struct name_lookup name_lookup;
    struct master_join join;
    struct master_leader_query leader_query;
    struct master_preflight preflight;
    struct master_lease lease;
    struct master_stragglers stragglers;
    struct master_standing standing;
    struct master_shared_dir shared_dir;
    struct master_takeover takeover;
    struct master_launch launch;
    struct master_pmi pmi;
    struct master_collect collect;
    struct master_stop stop;
    struct master_relaunch relaunch;
    struct master_uploads uploads;
};

/* Send an order to one host or to all connected hosts. They take over the reference. */
void master_send(struct master *m, size_t host, json_t *message);
void master_send_all(struct master *m, json_t *message);
/* Writes at once what the links accept. */
void master_flush(struct master *m);

/* Draws a name that nothing else has. */
int master_draw_name(char ret[ATTEMPT_RUN_SIZE], struct error *err);

/* Sends a refusal in VERSION to a peer that may not join, and frees the link. */
void master_refuse(struct link *link, int64_t version, const struct error *why);

void master_raise(struct master *m, enum phase_event event);
void master_raise_about(struct member *b, enum phase_event event, const char *why);
void master_raise_word(struct member *b, enum phase_event event, const json_t *word);

/* Returns the message to a host that this master admits or lets wait; KIND says which. */
json_t *master_greeting(const struct master *m, enum message kind);

/* Records that the member was heard. */
void member_heard(struct member *b);
/* Returns true if it was heard so recently that no other process can be this member. */
bool member_is_fresh(const struct member *b);
/* Returns true if a process at PEER that now claims this member's place is another host with the
 * same name. At another address it is. At the same address it may be the member itself, killed and
 * restarted: they are two only if the member is heard while the other one asks. */
bool member_is_duplicate(struct member *b, const struct net_address *peer);

static inline bool member_is_standby(const struct member *b) {
    return b->is_standby && b->link != NULL;
}

const char *member_name(const struct member *b);
size_t master_spares_left(const struct master *m);
size_t master_hosts_left(const struct master *m);

#endif
