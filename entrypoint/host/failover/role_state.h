/* State of a host that outlives the loss of its master: views for the quorum (outcome/quorum.h),
 * progress of the attempts, addresses of the hosts, TLS contexts for both roles, and the run ID.
 *
 * A process has one role after the other. When the master is lost everything else that it knows of
 * the job ends with its role, and the next role begins. With RINGMASTER_FAILOVER it becomes a
 * worker of the next host, or the new master. If that is not allowed, and with RINGMASTER_SHRINK
 * alone, the others may continue without this host: it looks for their master, waits there, and
 * takes part in their next attempt.
 *
 * What keeps two parts of a job from running at the same time, each by its own clock_boot(), with
 * LEASE = settings_dead():
 *   - a master without answers to its heartbeats of the last LEASE from enough hosts ends;
 *   - a worker that has heard no heartbeat for a LEASE ends what runs on it;
 *   - each has finished that ENDING later;
 *   - a new master begins no earlier than LEASE + ENDING after the last heartbeat that any of its
 *     hosts has answered, and one LEASE later if hosts other than the old master are missing, as
 *     they may have heard it for a LEASE more;
 *   - if none is missing, and all of them have seen that PID 1 of the old master's container has
 *     ended, a second is enough (outcome/fence.h).
 *
 * NULL in place of a role state means that all of this is off. */
#ifndef ENTRYPOINT_HOST_FAILOVER_ROLE_STATE_H
#define ENTRYPOINT_HOST_FAILOVER_ROLE_STATE_H

#include "common/error.h"
#include "common/net_address.h"
#include "common/run_id.h"
#include "entrypoint/job/job.h"
#include "entrypoint/outcome/goodput.h"
#include "entrypoint/outcome/quorum.h"
#include "entrypoint/outcome/restart.h"

#include <jansson.h>
#include <openssl/types.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ROLE_STATE_REACH_SECONDS = 10, /* for the next host, which may notice a LEASE later */
    ROLE_STATE_SEARCH_SECONDS =
        40, /* plus two LEASEs: for the current master, as a new one listens by then */
};

/* What a host knows of the end of its last master. */
struct seen_exit {
    bool seen;    /* PID 1 of the master's container has ended */
    size_t place; /* the master's */
    int64_t at;   /* clock_boot() */
};

struct role_state {
    bool on;
    bool returns;    /* a lost host may ask to be readmitted */
    SSL_CTX *client; /* owned; for all roles */
    SSL_CTX *server;
    struct quorum quorum;
    struct restart_progress progress; /* by the last order and what this host has seen since */
    struct goodput goodput;           /* likewise */
    bool begun;                       /* this host knows a committed view */
    bool ending;                      /* the job's end is known here: no further attempt comes */
    bool again;                       /* this is not the first role */
    bool over;                        /* this role ends, and another one follows */
    bool back;     /* this role, or the next one, asks the others to readmit this host */
    bool anew;     /* a restarted first host that knows of another leader: it knows nothing of that
                      job until it takes part in it */
    bool stopping; /* a stop was requested between two roles */
    bool closed;   /* the last master did not fall silent: it closed the link */
    size_t master; /* the place of this role's master, or of the host that is asked for it */
    size_t turn;   /* number of the next host to ask */
    unsigned attempt; /* the last attempt in which this host took part; 1 at first */
    int64_t heard;    /* the last heartbeat that was answered, clock_boot() */
    struct seen_exit saw_exit;
    char run[ATTEMPT_RUN_SIZE];
    struct net_address *addresses; /* owned, by place */
};

static inline bool role_state_is_on(const struct role_state *s) {
    return s != NULL && s->on;
}
/* Returns true in any role after the first. */
static inline bool role_state_is_again(const struct role_state *s) {
    return s != NULL && s->again;
}
/* Returns true if that role also knows the job's state so far. */
static inline bool role_state_knows(const struct role_state *s) {
    return role_state_is_again(s) && !s->anew;
}
/* Returns true if this host asks to be readmitted in this role. */
static inline bool role_state_is_back(const struct role_state *s) {
    return s != NULL && s->back;
}

/* Returns true if a host of C other than the first may be the master: of two hosts the second never
 * is. */
static inline bool role_state_others_lead(const struct role_state *s, const struct cluster *c) {
    return role_state_is_on(s) && c->count > 2;
}

/* Opens it and numbers the places of the hosts of JOB. */
int role_state_open(struct role_state *s, struct job *job, struct error *err);
void role_state_close(struct role_state *s);

/* Accepts the view of attempt NUMBER: the hosts of C that are not lost. Returns false if it cannot.
 */
bool role_state_take(struct role_state *s, const struct cluster *c, unsigned number);
/* Commits the view by the master's order: all hosts have accepted it. Returns false if this one has
 * not. */
bool role_state_commit_view(struct role_state *s, unsigned number, const json_t *order);
/* Returns the order's members for the hosts of C, owned by the caller. */
json_t *role_state_addresses(const struct cluster *c);

/* Returns another member of the order that begins an attempt, owned by the caller. */
json_t *role_state_progress(const struct restart_progress *c);
/* Reads it from ORDER, and what became of the job's time so far (outcome/goodput.h). */
void role_state_take_progress(struct role_state *s, const json_t *order);
/* Records the end of an attempt in which this host's ranks reported STEP at most (0: none); what
 * other hosts reported is unknown. */
void role_state_note_step(struct role_state *s, uint64_t step);

/* What a worker sends to the next master with its join, and how the master reads it. QUIET is the
 * time since the last heartbeat that it answered, in ns. The job started with PLACES hosts. */
json_t *role_state_json(const struct role_state *s);
int role_state_parse(const json_t *object, size_t places, char run[ATTEMPT_RUN_SIZE],
                     struct quorum *ret, int64_t *ret_quiet, struct error *err);

/* Likewise, what it has seen of the end of its last master; nothing if it has not. */
json_t *role_state_exit_json(const struct role_state *s);
void role_state_parse_exit(const json_t *join, struct seen_exit *ret);

/* Returns true if this host may follow another one after the loss of its master; else WHY, for
 * people. */
bool role_state_may_follow(const struct role_state *s, const struct job *job, const char **why);
/* Makes the next host the first of JOB's cluster and marks the hosts that cannot come to it as
 * lost. */
void role_state_follow(struct role_state *s, struct job *job);

/* Returns how long to search for the master. */
static inline int64_t role_state_search_seconds(const struct settings *s) {
    return 2 * s->dead_seconds + ROLE_STATE_SEARCH_SECONDS;
}
/* Returns how long this role tries to reach its master. */
int64_t role_state_reach_seconds(const struct role_state *s, const struct settings *settings);
/* Records that the master's link ended with the errno NUMBER; 0 for none, ETIMEDOUT if it was
 * silent. */
void role_state_note_end(struct role_state *s, int number);
/* Records that PID 1 of the master's container has ended, or, with a new master, that it has not.
 */
void role_state_note_exit(struct role_state *s, bool exited);
/* Returns true if this host may ask the others to readmit it. */
bool role_state_may_return(const struct role_state *s, const struct job *job);
/* In the next role this host asks to be readmitted: all hosts are in the cluster again. */
void role_state_return(struct role_state *s, struct job *job);
/* In the next role this host, the first of all, is the master of a new job: no host has readmitted
 * it into the old one. */
void role_state_lead(struct role_state *s, struct job *job);
/* Makes the next host to ask the first of JOB's cluster. */
void role_state_next_leader(struct role_state *s, struct job *job);

#endif
