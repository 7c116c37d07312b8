/* What a host carries on when its master is lost: who may go on by which attempt's roll
 * (outcome/quorum.h), how far attempts have come, where the hosts are, the link's keys for both
 * roles, the run's name. A
 * process leads one life after the other: when the master is lost all that it knows of the job but
 * this ends, with all that runs, and the next life begins. With RINGMASTER_FAILOVER that is as a
 * worker of the next host, or as that. Where this may not be, and with RINGMASTER_SHRINK alone, the
 * others may go on without this host: it looks for their master, waits there, and has a part in
 * their next attempt.
 *
 * What keeps two parts of a job from running at the same time, by one clock each, clock_boot(),
 * a LEASE being settings_dead():
 *   - a master that has not had answers to its heartbeats of the last LEASE from enough hosts ends;
 *   - a worker that has not heard a heartbeat for a LEASE ends what runs on it;
 *   - each is done with that ENDING later;
 *   - a new master begins no earlier than LEASE + ENDING after the last heartbeat that any of its
 *     hosts has answered, and where hosts beside the old master are missing, which may have heard
 * it for a LEASE more, one LEASE later. NULL in place of a succession is one that is off. */
#ifndef ENTRYPOINT_HOST_ROLE_STATE_H
#define ENTRYPOINT_HOST_ROLE_STATE_H

#include "common/error.h"
#include "common/net_address.h"
#include "common/run_id.h"
#include "entrypoint/job/job.h"
#include "entrypoint/outcome/quorum.h"
#include "entrypoint/outcome/restart.h"

#include <jansson.h>
#include <openssl/types.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ROLE_STATE_ENDING_SECONDS = 4,
    ROLE_STATE_REACH_SECONDS = 10, /* for the next host, which may notice a LEASE later */
    ROLE_STATE_SEEK_SECONDS = 40, /* and two LEASEs: for whoever is the master, as a new one listens
                                     by then */
};

struct role_state {
    bool on;
    bool returns;    /* a host that was lost may ask to be taken back */
    SSL_CTX *client; /* owned; for all lives */
    SSL_CTX *server;
    struct quorum quorum;
    struct restart_progress
        progress;     /* by the last order, and what this host has seen since then */
    bool begun;       /* this host has heard of a roll that all have taken */
    bool ending;      /* the job's end is known here: what comes is no attempt */
    bool again;       /* this is not the first life */
    bool over;        /* this life ends, and another one follows */
    bool back;        /* in which this host asks the others to be taken back; or this one is so */
    bool anew;        /* of a first host that was started anew, and has heard that another one leads
                         the job: it knows nothing of that until it has a part in it */
    bool stopping;    /* asked for between two lives */
    bool closed;      /* the last master did not fall silent: its end of the link was closed */
    size_t master;    /* the place of this life's, or of the host that is asked whether it is */
    size_t turn;      /* of asking */
    unsigned attempt; /* the last one in which this host had a part; 1 at first */
    int64_t heard;    /* the last heartbeat that was answered, clock_boot() */
    char run[ATTEMPT_RUN_SIZE];
    struct net_address *addresses; /* owned, by place */
};

static inline bool role_state_is_on(const struct role_state *s) {
    return s != NULL && s->on;
}
/* Of a life that is not the first. */
static inline bool role_state_is_again(const struct role_state *s) {
    return s != NULL && s->again;
}
/* And that knows what became of the job so far. */
static inline bool role_state_knows(const struct role_state *s) {
    return role_state_is_again(s) && !s->anew;
}
/* Of one in which this host asks to be taken back. */
static inline bool role_state_is_back(const struct role_state *s) {
    return s != NULL && s->back;
}

/* Whether another host of C than the first may be the master: of two the second never is. */
static inline bool role_state_others_lead(const struct role_state *s, const struct cluster *c) {
    return role_state_is_on(s) && c->count > 2;
}

/* Gives the hosts of JOB their places. */
int role_state_open(struct role_state *s, struct job *job, struct error *err);
void role_state_close(struct role_state *s);

/* Takes the roll of attempt NUMBER: the hosts of C that are not gone. False where it cannot. */
bool role_state_take(struct role_state *s, const struct cluster *c, unsigned number);
/* By the master's order: all hosts have taken it. False where this one has not. */
bool role_state_settle(struct role_state *s, unsigned number, const json_t *order);
/* The order's members, of the hosts of C. The caller owns it. */
json_t *role_state_addresses(const struct cluster *c);

/* Another member of the order that begins an attempt. The caller owns it. */
json_t *role_state_course(const struct restart_progress *c);
void role_state_take_course(struct role_state *s, const json_t *order);
/* An attempt is over whose ranks of this host have told STEP at most, 0: none has, and of what the
 * others have told nothing is known. */
void role_state_note_step(struct role_state *s, uint64_t step);

/* What a worker tells the next master with its join, and how that reads it: QUIET is the time since
 * the last heartbeat that it answered, ns. The job has had PLACES hosts. */
json_t *role_state_json(const struct role_state *s);
int role_state_parse(const json_t *object, size_t places, char run[ATTEMPT_RUN_SIZE],
                     struct quorum *ret, int64_t *ret_quiet, struct error *err);

/* Whether this host may follow another one now that its master is lost; else WHY, for people. */
bool role_state_may_follow(const struct role_state *s, const struct job *job, const char **why);
/* Makes the next host the first of JOB's cluster and those that cannot come to it gone. */
void role_state_follow(struct role_state *s, struct job *job);

/* How long it asks. */
static inline int64_t role_state_seek_seconds(const struct settings *s) {
    return 2 * s->dead_seconds + ROLE_STATE_SEEK_SECONDS;
}
/* How long this life tries to reach its master. */
int64_t role_state_reach_seconds(const struct role_state *s, const struct settings *settings);
/* The master's link has ended by the error NUMBER, 0 for none; ETIMEDOUT where it was silent. */
void role_state_note_end(struct role_state *s, int number);
/* Whether this host may ask the others to be taken back. */
bool role_state_may_return(const struct role_state *s, const struct job *job);
/* The next life is one in which it does: all hosts are there again. */
void role_state_return(struct role_state *s, struct job *job);
/* The next life is one in which this host, the first of all, is the master of a new job: nobody has
 * taken it into the old one. */
void role_state_lead(struct role_state *s, struct job *job);
/* Makes the host that is asked next the first of JOB's cluster. */
void role_state_seek(struct role_state *s, struct job *job);

#endif
