/* Quorum rule for failover: at most one partition of a job may continue. Pure: sets of hosts and a
 * rule, no clock and no socket.
 *
 * A *view* is the list of an attempt's hosts with its master. A part of the hosts may continue if
 * it holds more than half of a view, or exactly half with its master: any two such parts share a
 * host. A host knows the last committed view, which all of its hosts have accepted, and later views
 * that it has accepted itself without knowing that of the others. Any of these may be the one by
 * which others continue, so a part must have a quorum in all of them.
 *
 * A view may also grow: a master with a quorum readmits lost hosts that ask. It needs the quorum
 * without them. A restarted host has forgotten what it accepted, so that it does not count before a
 * view that it is in is committed. A master needs no quorum in views that it has offered itself and
 * not all have accepted, which the readmitted hosts would have to give it: no other host acts by
 * them. */
#ifndef ENTRYPOINT_OUTCOME_QUORUM_H
#define ENTRYPOINT_OUTCOME_QUORUM_H

#include "common/error.h"
#include "entrypoint/job/cluster/platform_description.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_SET_WORDS = CLUSTER_HOSTS_MAX / 64, QUORUM_ACCEPTED_MAX = 4 };

/* Set of hosts, by their place in the list that all hosts had at the start. */
struct host_set {
    uint64_t words[HOST_SET_WORDS];
};

void host_set_add(struct host_set *s, size_t place);
void host_set_remove(struct host_set *s, size_t place);
bool host_set_has(const struct host_set *s, size_t place);
size_t host_set_count(const struct host_set *s);
/* Returns how many hosts are in both. */
size_t host_set_common(const struct host_set *a, const struct host_set *b);

struct view {
    unsigned number; /* of the attempt */
    unsigned master; /* a place in HOSTS */
    struct host_set hosts;
};

struct quorum {
    struct view committed;
    struct view accepted[QUORUM_ACCEPTED_MAX]; /* each with a number above committed.number */
    size_t accepted_count;
    unsigned lost; /* number of the last view that did not fit; 0: all did */
};

/* Returns true if PART, a set of any hosts, has a quorum in one view. */
bool view_allows(const struct view *r, const struct host_set *part);
/* Returns true if it has one in all views of L; false as long as L had no room for a view that may
 * count. */
bool quorum_allows(const struct quorum *l, const struct host_set *part);
/* Likewise for a part with a MASTER that has itself offered all views from number FIRST on. */
bool quorum_allows_on(const struct quorum *l, const struct host_set *part, unsigned master,
                      unsigned first);

/* Accepts R for this host. Returns false if R's number is not above all that it has accepted. */
bool quorum_take(struct quorum *l, const struct view *r);
/* Notes that all hosts have accepted the view of this number. Returns false if L does not hold it.
 */
bool quorum_commit(struct quorum *l, unsigned number);
/* Adds what another host knows. */
void quorum_learn(struct quorum *l, const struct quorum *other);

/* The last view that was accepted. */
const struct view *quorum_last(const struct quorum *l);
/* The host that becomes master if the last view's master is lost, and those after it up to AFTER:
 * the next of its hosts that could have a quorum with the hosts after it; -1: none. After the last
 * host comes the first. */
int quorum_next_master(const struct quorum *l, size_t after);
/* The hosts that may join the new master PLACE: it and the hosts after it in the last view, up to
 * the lost master. */
void quorum_candidates(const struct quorum *l, size_t place, struct host_set *ret);

/* The caller owns it; the whole state, or NULL when out of memory. */
json_t *quorum_json(const struct quorum *l);
/* Parses the state of a job that started with PLACES hosts. A view with other hosts is refused,
 * because arrays indexed by place have no room for them. */
int quorum_parse(const json_t *object, size_t places, struct quorum *ret, struct error *err);

#endif
