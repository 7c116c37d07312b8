#include "entrypoint/master/members/duplicate_name.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/host/worker/worker_messages.h"
#include "entrypoint/job/cluster/local_names.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/wire/dial.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/message.h"

#include <string.h>

/* The search has two sides. As the one that asks, this host looks up its own name and drops its own
 * addresses from the result. It connects to the others in turn, with a join in the first host's
 * name. As the one that is asked, it gets such a join through accept.c and compares both claims
 * (duplicate_name_met). Both sides apply the same rule to the same numbers, so that one of the two
 * leaves, whichever asks first.
 *
 * A host that other hosts have joined stays in any case: leaving would take them along. While the
 * first lookup is not over, no host is admitted; a deadline ends it if the resolver or a peer is
 * slow.
 *
 * Peers without the job's key are no duplicates: they belong to another job, and the connection
 * simply fails. */

/* Declared here because it and closed() are mutually recursive: after a peer that does not answer,
 * the next address is asked. */
static void try_next(struct master *m);

int duplicate_name_error(struct error *err, const char *name, const struct net_address *first,
                         const struct net_address *second) {
    char texts[2][NET_ADDRESS_TEXT];
    net_address_text(first, texts[0]);
    net_address_text(second, texts[1]);
    return error_set(
        err, EXIT_CODE_CONFIG,
        "the name %s is that of the host at %s, and this one is at %s; give each host a name of "
        "its own (RINGMASTER_HOST), and remove containers left by an earlier try",
        name, texts[0], texts[1]);
}

/* Returns the address at which others find the first host; "" if it is unknown here. */
static const char *own_place(const struct master *m) {
    const struct cluster *cluster = &m->s.job->cluster;
    return cluster->counted ? cluster->master_at.text : cluster->hosts[0].name.text;
}

/* Other hosts have joined this one: it stays, whatever else is there. */
static bool has_company(const struct master *m) {
    return m->join.count > m->members[0].joined;
}

static void end_try(struct duplicate_name *n) {
    link_free(n->link);
    n->link = NULL;
}

/* Ends one lookup with all its tries. After the first one hosts are admitted; a name that does not
 * lead here is looked up again later. */
static void end_look(struct master *m) {
    struct duplicate_name *n = &m->duplicate_name;
    bool first = n->pending;
    end_try(n);
    resolve_cancel(&n->resolve);
    loop_cancel(&m->s.loop, &n->deadline);
    n->pending = false;
    if (n->misresolved && m->phase == PHASE_JOINING)
        loop_after(&m->s.loop, &n->again, DUPLICATE_NAME_AGAIN_SECONDS * CLOCK_SECOND);
    if (first)
        join_go_on(m);
}

/* Exits because of WHY. No host has been admitted, so none gets a message. */
static void leave(struct master *m, const struct error *why) {
    m->fault = *why;
    m->fault_host = 0;
    m->s.failure.refused = true;
    master_raise(m, EVENT_DUPLICATE_NAME);
}

/* --- this host asks --------------------------------------------------------------------------- */

/* The join carries what the rule compares: when this host began, a number that no other process
 * has, and two facts about its lookup. The first host that receives it recognizes its own name, and
 * admits no host for it. */
static void opened(void *context) {
    struct master *m = context;
    const struct duplicate_name *n = &m->duplicate_name;
    json_t *members = json_pack("{s:s, s:s, s:I, s:b, s:b}", "host", supervisor_host_name(&m->s, 0),
                                "life", n->life, "began", (json_int_t)n->began, "first",
                                (int)n->pending, "astray", (int)n->misresolved);
    link_send(n->link, message_with(MESSAGE_JOIN, members));
}

/* A refusal means that the other host stays. An answer of this process itself, under an address
 * that it did not know as its own, means nothing, and neither does one that comes after a host has
 * joined. */
static void answered(void *context, const json_t *message) {
    struct master *m = context;
    struct duplicate_name *n = &m->duplicate_name;
    struct error why = {0};
    if (message_kind(message) == MESSAGE_REFUSE && !n->self && !has_company(m)) {
        worker_read_refusal(message, &why);
        leave(m, &why);
        return;
    }
    end_try(n);
    try_next(m);
}

/* No process listens at that address, or with another key, or the other host has left. */
static void closed(void *context, const struct error *why) {
    struct master *m = context;
    log_debug("nobody else is %s there: %s", supervisor_host_name(&m->s, 0), why->text);
    end_try(&m->duplicate_name);
    try_next(m);
}

const struct link_events duplicate_name_events = {
    .opened = opened, .message = answered, .closed = closed};

static void try_next(struct master *m) {
    struct duplicate_name *n = &m->duplicate_name;
    struct error ignored;
    n->self = false;
    while (n->next < n->count) {
        n->link = dial_address(&m->s.loop, &n->addresses[n->next++], m->s.job->ports.control,
                               m->s.contexts.client, &duplicate_name_events, m, &ignored);
        if (n->link != NULL)
            return;
    }
    end_look(m);
}

/* Keeps the addresses that are not this host's. A name with any address of this host leads here,
 * even if other addresses come with it; those are asked all the same. */
static void pick(struct duplicate_name *n, const struct local_names *own,
                 const struct net_address *addresses, size_t count) {
    n->count = n->next = 0;
    n->misresolved = true;
    for (size_t i = 0; i < count; i++) {
        struct host_name name;
        net_address_text(&addresses[i], name.text);
        if (local_names_has(own, &name))
            n->misresolved = false;
        else
            n->addresses[n->count++] = addresses[i];
    }
}

/* Without the machine's own names no address can be distinguished from this host's, so none is
 * asked. */
static void found(void *context, const struct net_address *addresses, size_t count) {
    struct master *m = context;
    struct local_names own;
    struct error ignored;
    if (local_names_read(&own, &ignored) != 0)
        count = 0;
    pick(&m->duplicate_name, &own, addresses, count);
    try_next(m);
}

/* Fails only if the lookup cannot be started. */
static int look(struct master *m, struct error *err) {
    struct duplicate_name *n = &m->duplicate_name;
    loop_after(&m->s.loop, &n->deadline,
               (RESOLVE_SECONDS + DUPLICATE_NAME_LOOK_SECONDS) * CLOCK_SECOND);
    return resolve_start(&n->resolve, &m->s.loop, &m->s.reaper, own_place(m), found, m, err);
}

static void late(void *context) {
    end_look(context);
}

/* Runs until a host has joined or the phase is over. A host with company does not look, but may
 * lose it and look later. */
static void look_again(void *context) {
    struct master *m = context;
    struct error ignored;
    if (m->phase != PHASE_JOINING || m->s.judged)
        return;
    if (has_company(m) || look(m, &ignored) != 0)
        loop_after(&m->s.loop, &m->duplicate_name.again,
                   DUPLICATE_NAME_AGAIN_SECONDS * CLOCK_SECOND);
}

/* If the search cannot start, hosts are admitted as if no other host had the name. */
void duplicate_name_open(struct master *m) {
    struct duplicate_name *n = &m->duplicate_name;
    struct error why = {0};
    if (own_place(m)[0] == '\0')
        return;
    *n = (struct duplicate_name){.pending = true, .began = clock_wall()};
    n->deadline = (struct timer){.fire = late, .context = m};
    n->again = (struct timer){.fire = look_again, .context = m};
    if (master_draw_name(n->life, &why) == 0 && look(m, &why) == 0)
        return;
    log_warning("cannot determine whether another host is called %s: %s",
                supervisor_host_name(&m->s, 0), why.text);
    loop_cancel(&m->s.loop, &n->deadline);
    n->pending = false;
}

void duplicate_name_close(struct master *m) {
    struct duplicate_name *n = &m->duplicate_name;
    end_try(n);
    resolve_cancel(&n->resolve);
    loop_cancel(&m->s.loop, &n->deadline);
    loop_cancel(&m->s.loop, &n->again);
}

/* --- this host is asked ----------------------------------------------------------------------- */

/* Decides which host stays. If the name leads to one of both only, the other cannot be found and
 * exits. If both can be found, the one that has completed its first lookup was there before; if
 * both have, or neither, both compare the same numbers. */
static bool yields(const struct master *m, const json_t *message) {
    const struct duplicate_name *n = &m->duplicate_name;
    const char *life = json_string_value(json_object_get(message, "life"));
    json_int_t began = json_integer_value(json_object_get(message, "began"));
    bool pending = json_is_true(json_object_get(message, "first"));
    bool misresolved = json_is_true(json_object_get(message, "astray"));
    if (m->phase != PHASE_JOINING || life == NULL || has_company(m))
        return false;
    if (misresolved != n->misresolved)
        return n->misresolved;
    if (pending != n->pending)
        return n->pending;
    return began != n->began ? began < n->began : strcmp(life, n->life) < 0;
}

/* A join with this process's own number is its own question, come back: the refusal goes to itself
 * and is ignored there (answered). In the second case this host leaves, and the peer needs no
 * answer: it sees the link end. */
void duplicate_name_met(struct master *m, struct link *link, const struct net_address *peer,
                        const json_t *message) {
    struct duplicate_name *n = &m->duplicate_name;
    const struct net_address own = link_own_address(link);
    const char *name = supervisor_host_name(&m->s, 0);
    const char *life = json_string_value(json_object_get(message, "life"));
    struct error why = {0};
    char text[NET_ADDRESS_TEXT];
    if (life != NULL && n->life[0] != '\0' && strcmp(life, n->life) == 0) {
        n->self = true;
        master_refuse(link, FRAME_VERSION, &why);
        return;
    }
    if (yields(m, message)) {
        link_free(link);
        (void)duplicate_name_error(&why, name, peer, &own);
        leave(m, &why);
        return;
    }
    (void)duplicate_name_error(&why, name, &own, peer);
    net_address_text(peer, text);
    log_warning("a host at %s was refused: %s", text, why.text);
    master_refuse(link, FRAME_VERSION, &why);
}
