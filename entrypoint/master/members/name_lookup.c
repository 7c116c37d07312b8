#include "entrypoint/master/members/name_lookup.h"

#include "common/log/log.h"

static void next(struct master *m, size_t from);

static void found(void *context, const struct net_address *addresses, size_t count) {
    struct master *m = context;
    struct member *b = &m->members[m->name_lookup.host];
    (void)addresses;
    if (count == 0 && !b->unresolved && b->link == NULL)
        log_warning("%s is missing, and its name does not resolve: neither DNS nor /etc/hosts has "
                    "an address for it",
                    supervisor_host_name(&m->s, b->index));
    b->unresolved = count == 0;
    next(m, b->index + 1);
}

/* Looks up the first missing host from FROM on; at the end of the turn none. */
static void next(struct master *m, size_t from) {
    struct error ignored;
    const size_t count = m->s.job->cluster.count;
    while (from < count && m->members[from].link != NULL)
        from++;
    m->name_lookup.host = 0;
    if (from >= count || m->name_lookup.left == 0)
        return;
    m->name_lookup.left--;
    m->name_lookup.host = from;
    if (resolve_start(&m->name_lookup.resolve, &m->s.loop, &m->s.reaper,
                      supervisor_host_name(&m->s, from), found, m, &ignored) != 0)
        m->name_lookup.host = 0;
}

void name_lookup_start(struct master *m) {
    if (m->s.job->cluster.counted || m->name_lookup.host != 0)
        return;
    m->name_lookup.left = NAME_LOOKUP_MOST;
    next(m, 1);
}

void name_lookup_close(struct master *m) {
    resolve_cancel(&m->name_lookup.resolve);
}
