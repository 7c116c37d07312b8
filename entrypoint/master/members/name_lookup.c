#include "entrypoint/master/members/name_lookup.h"

#include "common/clock.h"
#include "common/log/log.h"

#include <stdio.h>
#include <string.h>

enum { NAMED_MAX = 8 };

static void fill(struct name_lookup *l);

/* --- the turn's line -------------------------------------------------------------------------- */

static void report(const struct name_lookup *l) {
    const size_t more = l->unresolved > NAMED_MAX ? l->unresolved - NAMED_MAX : 0;
    char others[64] = "";
    if (more > 0)
        (void)snprintf(others, sizeof(others), " and %zu more", more);
    if (l->unresolved == 1)
        log_warning("%s is missing, and its name does not resolve: neither DNS nor /etc/hosts has "
                    "an address for it",
                    l->names);
    else if (l->unresolved > 1)
        log_warning("%s%s are missing, and their names do not resolve: neither DNS nor /etc/hosts "
                    "has addresses for them",
                    l->names, others);
    if (l->next < l->master->s.job->cluster.count)
        log_debug("the names of missing hosts from %s on were not looked up within %d s",
                  supervisor_host_name(&l->master->s, l->next), RESOLVE_SECONDS);
}

static void note(struct name_lookup *l, const char *name) {
    const size_t used = strlen(l->names);
    if (l->unresolved++ < NAMED_MAX)
        (void)snprintf(l->names + used, sizeof(l->names) - used, "%s%s", used > 0 ? ", " : "",
                       name);
}

/* --- lookups ---------------------------------------------------------------------------------- */

static void found(void *context, const struct net_address *addresses, size_t count) {
    struct name_lookup_slot *slot = context;
    struct name_lookup *l = slot->turn;
    struct member *b = &l->master->members[slot->host];
    (void)addresses;
    slot->host = 0;
    l->running--;
    if (count == 0 && !b->unresolved && b->link == NULL)
        note(l, supervisor_host_name(&l->master->s, b->index));
    b->unresolved = count == 0;
    fill(l);
}

/* Looks up the next missing host. Returns false if there is none. */
static bool start_one(struct name_lookup *l, struct name_lookup_slot *slot) {
    struct error ignored;
    struct master *m = l->master;
    while (l->next < m->s.job->cluster.count && m->members[l->next].link != NULL)
        l->next++;
    if (l->next >= m->s.job->cluster.count)
        return false;
    slot->turn = l;
    slot->host = l->next++;
    if (resolve_start(&slot->resolve, &m->s.loop, &m->s.reaper,
                      supervisor_host_name(&m->s, slot->host), found, slot, &ignored) == 0)
        l->running++;
    else
        slot->host = 0;
    return true;
}

/* Fills all slots while the turn has time; after the last lookup the turn is over. */
static void fill(struct name_lookup *l) {
    for (size_t i = 0; i < NAME_LOOKUP_BESIDE && clock_now() < l->deadline; i++)
        while (l->slots[i].host == 0 && start_one(l, &l->slots[i]))
            ;
    if (l->running > 0)
        return;
    report(l);
    l->begun = false;
}

void name_lookup_start(struct master *m) {
    struct name_lookup *l = &m->name_lookup;
    if (m->s.job->cluster.counted || l->begun)
        return;
    l->master = m;
    l->begun = true;
    l->next = 1;
    l->unresolved = 0;
    l->names[0] = '\0';
    l->deadline = clock_now() + RESOLVE_SECONDS * CLOCK_SECOND;
    fill(l);
}

void name_lookup_close(struct master *m) {
    for (size_t i = 0; i < NAME_LOOKUP_BESIDE; i++)
        resolve_cancel(&m->name_lookup.slots[i].resolve);
}
