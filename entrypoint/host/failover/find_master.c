#include "entrypoint/host/failover/find_master.h"

#include "common/clock.h"
#include "entrypoint/host/failover/role_state.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"

/* A host that does not answer is given up after the time of a handshake; if nothing listens there,
 * half a second is enough. */
static const int64_t patience = (LINK_HANDSHAKE_SECONDS + 1) * CLOCK_SECOND;
static const int64_t look = CLOCK_SECOND / 2;

/* Returns true if this host must find out which host is the master. */
static bool seeks(const struct find_master *k) {
    const struct role_state *s = k->services->role_state;
    return role_state_others_lead(s, &k->services->job->cluster) && (s->back || !s->again);
}

static void opened(void *context, struct link *link, const struct net_address *peer) {
    struct find_master *k = context;
    loop_cancel(k->services->loop, &k->turn);
    k->events->opened(k->context, link, peer);
}

static void refused_once(void *context, const struct net_address *peer, const struct error *why) {
    struct find_master *k = context;
    k->events->refused_once(k->context, peer, why);
}

static void refused(void *context, const struct error *why) {
    struct find_master *k = context;
    k->events->refused(k->context, why);
}

static bool is_vain(const struct find_master *k) {
    const struct role_state *s = k->services->role_state;
    return role_state_is_back(s) && !role_state_others_lead(s, &k->services->job->cluster) &&
           s->closed &&
           dial_unreachable(&k->dial) >= FIND_MASTER_UNREACHABLE_SECONDS * CLOCK_SECOND;
}

/* The host did not answer. The next one follows soon, unless this one has another key, which is
 * then reported. */
static void round_failed(void *context) {
    struct find_master *k = context;
    if (seeks(k) && dial_why(&k->dial)->code != EXIT_CODE_KEY_REFUSED &&
        (!k->turn.active || k->turn.deadline > clock_now() + look))
        loop_after(k->services->loop, &k->turn, look);
    k->vain = is_vain(k);
    if (k->vain && k->events->round_failed != NULL)
        k->events->round_failed(k->context);
}

static const struct dial_events events = {opened, refused_once, refused, round_failed};

/* The first master is found by its name, or at the address that the platform gives. */
static const char *master_place(struct find_master *k) {
    const struct cluster *cluster = &k->services->job->cluster;
    const struct cluster_host *master = &cluster->hosts[0];
    if (role_state_is_on(k->services->role_state) && k->services->role_state->again &&
        net_address_is_set(&master->address)) {
        net_address_text(&master->address, k->address);
        return k->address;
    }
    return cluster->counted ? cluster->master_at.text : master->name.text;
}

static void dial(struct find_master *k) {
    dial_start(&k->dial, k->services->loop, k->services->reaper, k->tls, master_place(k),
               k->services->job->ports.control, &events, k);
    if (seeks(k) && !k->turn.active)
        loop_after(k->services->loop, &k->turn, patience);
}

static void turn(void *context) {
    struct find_master *k = context;
    dial_stop(&k->dial);
    if (seeks(k))
        role_state_next_leader(k->services->role_state, k->services->job);
    dial(k);
}

void find_master_start(struct find_master *k, const struct services *services, SSL_CTX *tls,
                       const struct dial_events *dial_events, void *context) {
    find_master_stop(k);
    *k = (struct find_master){.services = services,
                              .tls = tls,
                              .events = dial_events,
                              .context = context,
                              .turn = {.fire = turn, .context = k}};
    dial(k);
}

void find_master_stop(struct find_master *k) {
    if (k->services == NULL)
        return;
    loop_cancel(k->services->loop, &k->turn);
    dial_stop(&k->dial);
}

void find_master_later(struct find_master *k) {
    loop_after(k->services->loop, &k->turn, 2 * look);
}

const struct error *find_master_why(const struct find_master *k) {
    return dial_why(&k->dial);
}
