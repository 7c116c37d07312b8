/* Who may go on when hosts of a job lose one another, so that never two of its parts do. Pure: sets
 * of hosts and a rule, no clock, no socket.
 *
 * A roll is the list of an attempt's hosts with its master. A part of them may go on that holds
 * more than half of a roll, or just half and its master: any two such parts have a host in common.
 * A host knows the last roll of which it is sure, that is, that each of its hosts has taken, and
 * those later ones that it has taken itself without knowing that of the others. Each of these may
 * be the one by which others go on, so that a part must have the right by all of them.
 *
 * A roll may also grow: a master that has the right takes in hosts that were lost and ask again.
 * The right it has without them. A host that was started anew has forgotten what it took, so that
 * nobody counts it before a roll that it is on is sure. By rolls that a master has offered itself
 * and not all have taken it needs no right, which those that it takes in would have to give it:
 * nobody acts by them but itself. */
#ifndef ENTRYPOINT_OUTCOME_QUORUM_H
#define ENTRYPOINT_OUTCOME_QUORUM_H

#include "common/error.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_SET_WORDS = CLUSTER_HOSTS_MAX / 64, QUORUM_ACCEPTED_MAX = 4 };

/* By a host's place in the list that all hosts had at the beginning. */
struct host_set {
    uint64_t words[HOST_SET_WORDS];
};

void host_set_add(struct host_set *s, size_t place);
void host_set_remove(struct host_set *s, size_t place);
bool host_set_has(const struct host_set *s, size_t place);
size_t host_set_count(const struct host_set *s);
/* How many are in both. */
size_t host_set_common(const struct host_set *a, const struct host_set *b);

struct view {
    unsigned number; /* of the attempt */
    unsigned master; /* a place in HOSTS */
    struct host_set hosts;
};

struct quorum {
    struct view committed;
    struct view accepted[QUORUM_ACCEPTED_MAX]; /* each with a number above sure.number */
    size_t accepted_count;
    unsigned lost; /* number of the last roll that it had no room for; 0: there was none */
};

/* The right of PART, of hosts that may be any, by one roll. */
bool view_allows(const struct view *r, const struct host_set *part);
/* By all that L holds; nobody as long as it had no room for a roll that may count. */
bool quorum_allows(const struct quorum *l, const struct host_set *part);
/* The same of a part whose master MASTER has offered all rolls of its own from number FIRST on. */
bool quorum_allows_on(const struct quorum *l, const struct host_set *part, unsigned master,
                      unsigned first);

/* This host takes R; false where R's number is not above all that it has taken before. */
bool quorum_take(struct quorum *l, const struct view *r);
/* All hosts have taken the roll of this number; false where L does not hold it. */
bool quorum_commit(struct quorum *l, unsigned number);
/* What another host knows, too. */
void quorum_learn(struct quorum *l, const struct quorum *other);

/* The last one that was taken. */
const struct view *quorum_last(const struct quorum *l);
/* Who becomes the master when the last roll's one is lost, and those after it up to AFTER: the next
 * of its hosts that could have enough with those behind it; -1: there is none. Behind the last host
 * the first one comes. */
int quorum_next_master(const struct quorum *l, size_t after);
/* The hosts that may come to the new master PLACE: it and those of the last roll behind it, up to
 * the master that is lost. */
void quorum_behind(const struct quorum *l, size_t place, struct host_set *ret);

/* The caller owns it; all of it, or NULL when out of memory. */
json_t *quorum_json(const struct quorum *l);
/* Of a job that has had PLACES hosts: a roll of others is refused, as what is kept by place has no
 * room for them. */
int quorum_parse(const json_t *object, size_t places, struct quorum *ret, struct error *err);

#endif
