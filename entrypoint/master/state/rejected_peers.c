#include "entrypoint/master/state/rejected_peers.h"

#include "common/clock.h"
#include "common/log/log.h"

static void look_at_next(struct rejected_peers *s);

static size_t kept(const struct rejected_peers *s) {
    return s->refused_count < REJECTED_PEERS_MAX ? s->refused_count : REJECTED_PEERS_MAX;
}

static bool is_refused(const struct rejected_peers *s, const struct net_address *address) {
    for (size_t i = 0; i < kept(s); i++)
        if (net_address_equal(&s->refused[i], address))
            return true;
    return false;
}

static bool is_due(int64_t *said, int64_t seconds) {
    int64_t now = clock_now();
    if (*said != 0 && now - *said < seconds * CLOCK_SECOND)
        return false;
    *said = now;
    return true;
}

static void found(void *context, const struct net_address *addresses, size_t count) {
    struct rejected_peers *s = context;
    if (count == 1 && is_refused(s, &addresses[0]) && s->is_missing(s->context, s->host)) {
        char text[NET_ADDRESS_TEXT];
        net_address_text(&addresses[0], text);
        s->known = (int)s->host;
        s->known_address = addresses[0];
        s->looking = false;
        log_warning("that is %s, at %s", s->cluster->hosts[s->host].name.text, text);
        return;
    }
    s->host++;
    look_at_next(s);
}

static void look_at_next(struct rejected_peers *s) {
    struct error ignored;
    while (s->host < s->cluster->count && !s->is_missing(s->context, s->host))
        s->host++;
    s->looking = s->host < s->cluster->count &&
                 resolve_start(&s->resolve, s->loop, s->reaper,
                               s->cluster->hosts[s->host].name.text, found, s, &ignored) == 0;
}

static void add_refused(struct rejected_peers *s, const struct net_address *peer,
                        const char *peer_text, const struct error *why) {
    bool is_new = !is_refused(s, peer);
    if (is_new)
        s->refused[s->refused_count++ % REJECTED_PEERS_MAX] = *peer;
    bool due = is_due(&s->key_said, REJECTED_PEERS_KEY_SECONDS);
    if (due || (is_new && s->refused_count <= REJECTED_PEERS_MAX))
        log_warning("a peer at %s was refused: %s", peer_text, why->text);
    struct net_address unused;
    if (s->cluster->counted || s->looking || rejected_peers_host(s, &unused) >= 0 ||
        !is_due(&s->looked, REJECTED_PEERS_LOOK_SECONDS))
        return;
    s->host = 1;
    look_at_next(s);
}

void rejected_peers_add(struct rejected_peers *s, const struct net_address *peer,
                        const struct error *why) {
    char text[NET_ADDRESS_TEXT];
    net_address_text(peer, text);
    if (why->code == EXIT_CODE_KEY_REFUSED) {
        add_refused(s, peer, text, why);
        return;
    }
    s->untold++;
    if (!is_due(&s->said, REJECTED_PEERS_SAID_SECONDS))
        return;
    log_warning("a stranger at %s was turned away: %s (%zu since the last such line)", text,
                why->text, s->untold);
    s->untold = 0;
}

int rejected_peers_host(const struct rejected_peers *s, struct net_address *ret_address) {
    if (s->known < 0 || !s->is_missing(s->context, (size_t)s->known))
        return -1;
    *ret_address = s->known_address;
    return s->known;
}

void rejected_peers_open(struct rejected_peers *s, struct loop *loop, struct reaper *reaper,
                         const struct cluster *cluster,
                         bool (*is_missing)(void *context, size_t host), void *context) {
    *s = (struct rejected_peers){.loop = loop,
                                 .reaper = reaper,
                                 .cluster = cluster,
                                 .is_missing = is_missing,
                                 .context = context,
                                 .known = -1};
}

void rejected_peers_close(struct rejected_peers *s) {
    resolve_cancel(&s->resolve);
}
