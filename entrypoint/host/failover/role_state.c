#include "entrypoint/host/failover/role_state.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/wire/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A host is known here by its place: its index in the list that all hosts had at the start. The
 * cluster's list changes with each role, because the master is always its first element, and places
 * do not. Sets, addresses and messages therefore use places, and only role_state_follow(),
 * role_state_next_leader() and role_state_lead() reorder the list.
 *
 * master/role_loop.c runs one role after the other. It calls role_state_return(), role_state_lead()
 * or role_state_follow() between two of them, as the flags `back` and `anew` say. All times are
 * clock_boot(), which also counts while the machine is suspended: a lease that ran out during a
 * suspend has run out. */

/* Failover and readmission are separate settings: with readmission alone there is no quorum to
 * keep, but addresses are. A job of one host has neither. View 1 is committed from the start: it is
 * the list that all hosts were started with. */
int role_state_open(struct role_state *s, struct job *job, struct error *err) {
    struct cluster *c = &job->cluster;
    *s = (struct role_state){.on = job->settings.failover && c->count > 1,
                             .returns = settings_readmit(&job->settings) && c->count > 1,
                             .attempt = 1,
                             .quorum = {.committed = {.number = 1}}};
    goodput_begin(&s->goodput, clock_boot());
    if (c->count < 2 || (!s->on && !s->returns))
        return 0;
    for (size_t i = 0; i < c->count; i++) {
        c->hosts[i].place = i;
        host_set_add(&s->quorum.committed.hosts, i);
    }
    s->addresses = calloc(c->count, sizeof(*s->addresses));
    return s->addresses != NULL ? 0 : error_no_memory(err, "addresses of hosts");
}

void role_state_close(struct role_state *s) {
    tls_context_free(s->client);
    tls_context_free(s->server);
    free(s->addresses);
    *s = (struct role_state){0};
}

/* Lost hosts are left out, and spares are in: a spare counts in the quorum like any other host. */
bool role_state_take(struct role_state *s, const struct cluster *c, unsigned number) {
    struct view view = {.number = number, .master = (unsigned)c->hosts[0].place};
    for (size_t i = 0; i < c->count; i++)
        if (!c->hosts[i].gone)
            host_set_add(&view.hosts, c->hosts[i].place);
    return quorum_take(&s->quorum, &view);
}

/* Pairs of place and address. Addresses are those on the job's network, as the master has seen
 * them. */
json_t *role_state_addresses(const struct cluster *c) {
    json_t *list = json_array();
    for (size_t i = 0; i < c->count; i++) {
        char text[NET_ADDRESS_TEXT];
        net_address_text(&c->hosts[i].address, text);
        if (!c->hosts[i].gone)
            (void)json_array_append_new(list,
                                        json_pack("[I, s]", (json_int_t)c->hosts[i].place, text));
    }
    return list;
}

/* The list comes from the master and is checked all the same: only places of the committed view
 * have an element in `addresses`. An address that cannot be parsed leaves the old one. `begun` is
 * what role_state_may_follow() asks for: a host that has heard of no committed view cannot know by
 * which one others continue. */
bool role_state_commit_view(struct role_state *s, unsigned number, const json_t *order) {
    const json_t *list = json_object_get(order, "addresses");
    if (!quorum_commit(&s->quorum, number))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *text = json_string_value(json_array_get(one, 1));
        json_int_t place = json_integer_value(json_array_get(one, 0));
        if (text != NULL && place >= 0 && place < CLUSTER_HOSTS_MAX &&
            host_set_has(&s->quorum.committed.hosts, (size_t)place))
            (void)net_address_parse(text, &s->addresses[place]);
    }
    s->begun = true;
    goodput_started(&s->goodput, clock_boot());
    return true;
}

/* --- progress of attempts --------------------------------------------------------------------- */

json_t *role_state_progress(const struct restart_progress *c) {
    return json_pack("[I, I]", (json_int_t)(c->best_step & INT64_MAX), (json_int_t)c->fruitless);
}

/* Numbers out of range count as no progress at all. */
void role_state_take_progress(struct role_state *s, const json_t *order) {
    const json_t *progress = json_object_get(order, "course");
    json_int_t best = json_integer_value(json_array_get(progress, 0));
    json_int_t fruitless = json_integer_value(json_array_get(progress, 1));
    bool good = best >= 0 && fruitless >= 0 && fruitless <= RESTART_FRUITLESS_MAX;
    s->progress = good ? (struct restart_progress){(uint64_t)best, (unsigned)fruitless}
                       : (struct restart_progress){0};
    (void)goodput_parse(json_object_get(order, "goodput"), clock_boot(), &s->goodput);
}

/* Without a step nothing is known of the attempt, as other hosts' ranks may have made progress. The
 * count of fruitless attempts then starts again. */
void role_state_note_step(struct role_state *s, uint64_t step) {
    if (step > 0)
        restart_progress_add(&s->progress, step);
    else
        s->progress.fruitless = 0;
}

/* --- part of a join --------------------------------------------------------------------------- */

/* `quiet` is an age and not a time, because clocks of two hosts have nothing in common. */
json_t *role_state_json(const struct role_state *s) {
    return json_pack("{s:s, s:o, s:I}", "run", s->run, "ledger", quorum_json(&s->quorum), "quiet",
                     (json_int_t)(clock_boot() - s->heard));
}

/* On failure *RET_QUIET is -1 or what was sent, and RUN is unchanged. */
int role_state_parse(const json_t *object, size_t places, char run[ATTEMPT_RUN_SIZE],
                     struct quorum *ret, int64_t *ret_quiet, struct error *err) {
    const char *text = NULL;
    *ret_quiet = -1;
    if (json_member_string(object, "join", "run", &text, err) != 0 ||
        json_member_int(object, "join", "quiet", ret_quiet, err) != 0 ||
        quorum_parse(json_object_get(object, "ledger"), places, ret, err) != 0)
        return -1;
    if (text == NULL || *ret_quiet < 0)
        return error_set(err, EXIT_CODE_CONFIG, "join: its state of the job is missing");
    (void)snprintf(run, ATTEMPT_RUN_SIZE, "%s", text);
    return 0;
}

json_t *role_state_exit_json(const struct role_state *s) {
    return json_pack("[I, I]", (json_int_t)s->saw_exit.place,
                     (json_int_t)(clock_boot() - s->saw_exit.at));
}

/* A member that is missing or out of range means that the host has seen nothing. An age beyond this
 * host's own uptime is refused, too: the subtraction would lead before the time of its start. */
void role_state_parse_exit(const json_t *join, struct seen_exit *ret) {
    const json_t *pair = json_object_get(join, "master_exit");
    const json_t *place = json_array_get(pair, 0);
    const json_t *ago = json_array_get(pair, 1);
    const json_int_t since = json_integer_value(ago);
    *ret = (struct seen_exit){0};
    if (!json_is_integer(place) || json_integer_value(place) < 0 ||
        json_integer_value(place) >= CLUSTER_HOSTS_MAX || !json_is_integer(ago) || since < 0 ||
        since > clock_boot())
        return;
    *ret = (struct seen_exit){
        .seen = true, .place = (size_t)json_integer_value(place), .at = clock_boot() - since};
}

void role_state_note_exit(struct role_state *s, bool exited) {
    if (s != NULL)
        s->saw_exit =
            (struct seen_exit){.seen = exited, .place = s->master, .at = exited ? clock_boot() : 0};
}

/* --- following another host ------------------------------------------------------------------- */

/* The next master begins another attempt, so a restart must be left. The last check is for a host
 * that others may have passed over. quorum_candidates() holds the next master and the hosts after
 * it, and only these are admitted there. */
bool role_state_may_follow(const struct role_state *s, const struct job *job, const char **why) {
    size_t self = job->cluster.hosts[job->cluster.self].place;
    struct host_set candidates;
    *why = "";
    if (!role_state_is_on(s) || !s->begun || s->ending || s->stopping)
        return false;
    int next = quorum_next_master(&s->quorum, s->master);
    if ((int64_t)quorum_last(&s->quorum)->number > job->settings.restarts)
        *why = "; no restarts are left";
    else if (next < 0)
        *why = "; at most half of its hosts may be left";
    else {
        quorum_candidates(&s->quorum, (size_t)next, &candidates);
        if (host_set_has(&candidates, self))
            return true;
        *why = "; the others may continue without this host";
    }
    return false;
}

static int by_place(const void *a, const void *b) {
    const struct cluster_host *first = a;
    const struct cluster_host *second = b;
    return first->place < second->place ? -1 : first->place > second->place;
}

/* Makes the host at PLACE the first. Hosts that agree on the first have the same order of all
 * others, lost ones included, so an index means the same to all of them. SELF is found again by its
 * place, as its index has changed. */
static void lead(struct cluster *c, size_t place) {
    size_t self = c->hosts[c->self].place;
    qsort(c->hosts, c->count, sizeof(*c->hosts), by_place);
    struct cluster_host first = c->hosts[place];
    memmove(c->hosts + 1, c->hosts, place * sizeof(*c->hosts));
    c->hosts[0] = first;
    for (size_t i = 0; i < c->count; i++)
        if (c->hosts[i].place == self)
            c->self = i;
}

/* The caller has asked role_state_may_follow(), so there is a next master. Addresses are those of
 * the committed view: a worker dials its next master there (find_master.c). */
void role_state_follow(struct role_state *s, struct job *job) {
    struct cluster *c = &job->cluster;
    struct host_set candidates;
    s->master = (size_t)quorum_next_master(&s->quorum, s->master);
    lead(c, s->master);
    quorum_candidates(&s->quorum, s->master, &candidates);
    for (size_t i = 0; i < c->count; i++) {
        c->hosts[i].gone = !host_set_has(&candidates, c->hosts[i].place);
        c->hosts[i].address = s->addresses[c->hosts[i].place];
    }
    s->again = true;
    s->over = s->back = false;
}

/* --- return of a lost host -------------------------------------------------------------------- */

/* Any readmission is another attempt, so one must be left after the last that this host has learned
 * of. A view that it has accepted may be later than the attempt in which it took part. */
bool role_state_may_return(const struct role_state *s, const struct job *job) {
    if (s == NULL || !s->returns || s->ending || s->stopping)
        return false;
    unsigned last = s->attempt;
    if (s->on && quorum_last(&s->quorum)->number > last)
        last = quorum_last(&s->quorum)->number;
    return (int64_t)last <= job->settings.restarts;
}

/* Three cases: a host that seeks readmission searches all others in turn, one that follows knows
 * which host to call, and in the first role hosts may start minutes apart. */
int64_t role_state_reach_seconds(const struct role_state *s, const struct settings *settings) {
    if (role_state_is_back(s))
        return role_state_search_seconds(settings);
    return role_state_is_again(s) ? settings->dead_seconds + ROLE_STATE_REACH_SECONDS
                                  : settings->ready_seconds;
}

/* A silence that TCP has noticed counts as silence, too, because this host may be cut off.
 * ECONNRESET and EPIPE mean that the other machine has answered, and that no process there holds
 * the connection any more. */
void role_state_note_end(struct role_state *s, int number) {
    if (s != NULL)
        s->closed = number == 0 || number == ECONNRESET || number == EPIPE;
}

/* All hosts count as present until a master says otherwise: this host was away and cannot know. A
 * restarted first host keeps its turn, which points at the host that leads the job. */
void role_state_return(struct role_state *s, struct job *job) {
    struct cluster *c = &job->cluster;
    for (size_t i = 0; i < c->count; i++)
        c->hosts[i].gone = false;
    s->again = s->back = true;
    s->over = false;
    if (!s->anew) /* otherwise it starts with the host that leads the job */
        s->turn = 0;
    role_state_next_leader(s, job);
}

void role_state_lead(struct role_state *s, struct job *job) {
    s->master = 0;
    lead(&job->cluster, s->master);
    s->over = s->back = false;
}

/* The place to ask next. If the first host may be the lost one, all others are asked in turn. In a
 * life in which the first host must be there, it is asked again between any two of them. With
 * `back`, place i is asked at turn i. In a first role even turns ask the first host, and odd ones
 * each of the others. */
static size_t place_to_ask(const struct role_state *s, const struct cluster *c) {
    size_t turn = s->turn / 2;
    if (!s->on || (!s->back && s->turn % 2 == 0))
        return 0;
    return s->back ? s->turn % c->count : 1 + turn % (c->count - 1);
}

/* Returns true if the host's address is known. If the platform gives only the number of hosts, only
 * the first has a name. */
static bool is_known(const struct role_state *s, const struct cluster *c, size_t place) {
    return !c->counted || place == 0 || (s->again && net_address_is_set(&s->addresses[place]));
}

/* Two rounds are enough to come by every place, as half of the turns may be the first host's. This
 * host itself and hosts without an address are skipped. Without failover only the first host can
 * lead, so the list keeps its order. */
void role_state_next_leader(struct role_state *s, struct job *job) {
    struct cluster *c = &job->cluster;
    size_t self = c->hosts[c->self].place;
    bool found = false;
    s->master = 0;
    for (size_t left = s->on ? 2 * c->count : 0; left > 0 && !found; left--) {
        s->master = place_to_ask(s, c);
        s->turn++;
        found = s->master != self && is_known(s, c, s->master);
    }
    if (!s->on)
        return;
    if (!found)
        s->master = self == 0; /* no other host can be asked, and this host is not the master */
    lead(c, s->master);
    for (size_t i = 0; s->again && i < c->count; i++)
        c->hosts[i].address = s->addresses[c->hosts[i].place];
}
