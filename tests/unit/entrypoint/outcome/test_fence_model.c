/* The fences (outcome/fence.h) and the quorum together, on a clock: hosts are killed, cut off and
 * reset at random moments, masters follow one another, and no two attempts ever run at once. */
#include "entrypoint/outcome/fence.h"

#include "common/clock.h"
#include "entrypoint/outcome/quorum.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { HOSTS = 4, RUNS = 20000, TICKS = 600, NOBODY = -1 };
static const int64_t tick = 100 * CLOCK_MILLISECOND;
static const int64_t lease = 10 * CLOCK_SECOND;

struct host {
    bool alive;
    bool cut; /* it reaches nobody */
    bool leads;
    int master;      /* NOBODY: it has lost its master */
    bool linked;     /* to its master */
    int64_t heard;   /* its last heartbeat, which it answered */
    int64_t acked;   /* the last answer that its master has */
    bool lost;       /* its master says so */
    bool has_ranks;  /* others are spares */
    int64_t ends;    /* from then on no rank runs on it */
    bool saw_exit;   /* of its last master */
    int64_t seen_at; /* when */
    struct quorum quorum;
    int64_t fence;  /* as a master */
    bool restarts;  /* likewise: another attempt is due */
    int64_t opened; /* as the next master; 0: it is none yet */
};

struct model {
    struct host hosts[HOSTS];
    int64_t now;
    int spares;         /* hosts beyond those that run ranks */
    unsigned filled;    /* spares that have taken a lost host's place */
    bool trusts_resets; /* takes a reset for the end of a process, which is wrong */
    unsigned quick;     /* attempts that began within three seconds of a kill */
    unsigned follows;   /* masters that have followed another one */
    unsigned doubles;   /* attempts that began while another one ran */
    int64_t killed;
};

static int64_t up_to(int64_t most) {
    return most * (rand() % 1000) / 1000;
}

static bool meets(const struct model *m, int a, int b) {
    return a == b || !(m->hosts[a].cut || m->hosts[b].cut);
}

static void end_ranks(struct host *h, int64_t by) {
    if (h->ends > by)
        h->ends = by;
}

static void leave(struct model *m, int i, bool saw_exit) {
    struct host *h = &m->hosts[i];
    if (!h->alive || h->master == NOBODY || h->leads)
        return;
    h->master = NOBODY;
    h->linked = false;
    h->saw_exit = saw_exit;
    h->seen_at = m->now;
    end_ranks(h, m->now + up_to(FENCE_ENDING_SECONDS * CLOCK_SECOND));
}

static void lose(struct model *m, int master, int i, bool exited) {
    struct host *l = &m->hosts[master];
    const int64_t fence = fence_of_host(m->now, lease, exited);
    if (!l->alive || !l->leads || m->hosts[i].lost)
        return;
    m->hosts[i].lost = true;
    if (!m->hosts[i].has_ranks) /* nothing of it can run */
        return;
    l->restarts = true;
    l->fence = fence > l->fence ? fence : l->fence;
}

/* The end of a connection may get lost, too. */
static bool arrives(void) {
    return rand() % 8 != 0;
}

static void die(struct model *m, int i) {
    struct host *h = &m->hosts[i];
    if (!h->alive)
        return;
    h->alive = false;
    m->killed = m->now;
    end_ranks(h, m->now + up_to(FENCE_EXIT_SECONDS * CLOCK_SECOND));
    for (int k = 0; k < HOSTS; k++)
        if (k != i && m->hosts[k].master == i && m->hosts[k].linked && meets(m, i, k) && arrives())
            leave(m, k, true);
    if (!h->leads && h->master != NOBODY && h->linked && meets(m, i, h->master) && arrives())
        lose(m, h->master, i, true);
    h->leads = false;
}

/* A device between the hosts resets the connection; one side notices, or both. */
static void reset(struct model *m, int i) {
    const int master = m->hosts[i].master;
    const int told = 1 + rand() % 3;
    if (master == NOBODY || master == i || !m->hosts[i].linked)
        return;
    m->hosts[i].linked = false;
    if ((told & 1) != 0)
        lose(m, master, i, m->trusts_resets);
    if ((told & 2) != 0)
        leave(m, i, m->trusts_resets);
}

static void beat(struct model *m, int i) {
    struct host *h = &m->hosts[i];
    if (!h->alive || h->leads || h->master == NOBODY)
        return;
    if (h->linked && m->hosts[h->master].leads && m->hosts[h->master].alive &&
        meets(m, i, h->master))
        h->heard = h->acked = m->now;
    if (m->now - h->heard >= lease)
        leave(m, i, false);
}

/* Hosts with answers that the master counts. One that has left it is one of them for a lease. */
static struct host_set followers(const struct model *m, int master) {
    const unsigned number = m->hosts[master].quorum.committed.number;
    struct host_set set = {0};
    for (int i = 0; i < HOSTS; i++) {
        const struct host *h = &m->hosts[i];
        if (i == master ||
            (!h->lost && h->acked > m->now - lease && h->quorum.committed.number == number))
            host_set_add(&set, (size_t)i);
    }
    return set;
}

/* Hosts that have ranks keep them; a spare takes the place of a lost host. */
static void give_seats(struct model *m, const struct host_set *set) {
    int left = HOSTS - m->spares;
    for (int i = 0; i < HOSTS; i++) {
        m->hosts[i].has_ranks = m->hosts[i].has_ranks && host_set_has(set, (size_t)i);
        left -= m->hosts[i].has_ranks;
    }
    for (int i = 0; i < HOSTS && left > 0; i++)
        if (!m->hosts[i].has_ranks && host_set_has(set, (size_t)i)) {
            m->hosts[i].has_ranks = true;
            m->filled++;
            left--;
        }
}

/* What begins must be alone. */
static void begin(struct model *m, int master, const struct host_set *set) {
    const unsigned number = quorum_last(&m->hosts[master].quorum)->number + 1;
    const struct view view = {.number = number, .master = (unsigned)master, .hosts = *set};
    for (int i = 0; i < HOSTS; i++)
        m->doubles += (!host_set_has(set, (size_t)i) && m->hosts[i].ends > m->now) ||
                      (i != master && m->hosts[i].leads && m->hosts[i].alive);
    give_seats(m, set);
    for (int i = 0; i < HOSTS; i++) {
        struct host *h = &m->hosts[i];
        if (!host_set_has(set, (size_t)i))
            continue;
        CU_ASSERT(quorum_take(&h->quorum, &view));
        CU_ASSERT(quorum_commit(&h->quorum, number));
        h->leads = i == master;
        h->master = master;
        h->linked = true;
        h->lost = h->saw_exit = h->restarts = false;
        h->heard = h->acked = m->now;
        h->ends = h->has_ranks ? INT64_MAX : m->now;
        h->opened = 0;
    }
    m->quick += m->killed != 0 && m->now - m->killed <= 3 * CLOCK_SECOND;
}

static void lead(struct model *m, int i) {
    struct host *h = &m->hosts[i];
    if (!h->alive || !h->leads)
        return;
    for (int k = 0; k < HOSTS; k++)
        if (k != i && host_set_has(&h->quorum.committed.hosts, (size_t)k) &&
            m->hosts[k].quorum.committed.number == h->quorum.committed.number &&
            m->now - m->hosts[k].acked >= lease)
            lose(m, i, k, false);
    const struct host_set set = followers(m, i);
    if (!quorum_allows(&h->quorum, &set)) {
        h->leads = false;
        h->master = NOBODY;
        end_ranks(h, m->now + up_to(FENCE_ENDING_SECONDS * CLOCK_SECOND));
        return;
    }
    if (!h->restarts || m->now < h->fence)
        return;
    for (int k = 0; k < HOSTS; k++) /* all have to say that they are ready */
        if (host_set_has(&set, (size_t)k) &&
            (!m->hosts[k].alive || m->hosts[k].master != i || !m->hosts[k].linked))
            return;
    begin(m, i, &set);
}

/* Host I is the next one of its view, and those that have lost its master come to it. */
static void gather(struct model *m, int i) {
    struct host *h = &m->hosts[i];
    struct host_set set = {0};
    struct quorum all = h->quorum;
    const unsigned master = quorum_last(&h->quorum)->master;
    struct fence_master facts = {.lease = lease, .heard = h->heard, .exited = true};
    if (!h->alive || h->leads || h->master != NOBODY || h->ends > m->now ||
        quorum_next_master(&h->quorum, master) != i)
        return;
    h->opened = h->opened == 0 ? m->now : h->opened;
    facts.opened = h->opened;
    for (int k = 0; k < HOSTS; k++) {
        const struct host *o = &m->hosts[k];
        if (!o->alive || o->leads || o->master != NOBODY || o->ends > m->now || !meets(m, i, k) ||
            quorum_last(&o->quorum)->number != quorum_last(&h->quorum)->number || k == (int)master)
            continue;
        host_set_add(&set, (size_t)k);
        quorum_learn(&all, &o->quorum);
        facts.exited = facts.exited && o->saw_exit;
        facts.ended = o->seen_at > facts.ended ? o->seen_at : facts.ended;
        facts.heard = o->heard > facts.heard ? o->heard : facts.heard;
    }
    const struct host_set *last = &quorum_last(&all)->hosts;
    facts.complete = host_set_common(last, &set) + 1 == host_set_count(last);
    if (!quorum_allows(&all, &set) || m->now < fence_of_master(&facts))
        return;
    h->quorum = all;
    m->follows++;
    begin(m, i, &set);
}

static void run(struct model *m) {
    const struct view first = {.number = 1, .hosts = {.words = {(1U << HOSTS) - 1}}};
    memset(m->hosts, 0, sizeof(m->hosts));
    m->now = 100 * CLOCK_SECOND;
    m->killed = 0;
    for (int i = 0; i < HOSTS; i++)
        m->hosts[i] = (struct host){.alive = true,
                                    .leads = i == 0,
                                    .linked = true,
                                    .heard = m->now,
                                    .acked = m->now,
                                    .has_ranks = i < HOSTS - m->spares,
                                    .ends = i < HOSTS - m->spares ? INT64_MAX : 0,
                                    .quorum = {.committed = first}};
    for (int step = 0; step < TICKS; step++, m->now += tick) {
        const int host = rand() % HOSTS;
        switch (rand() % 400) {
        case 0:
        case 1:
            die(m, host);
            break;
        case 2:
        case 3:
            reset(m, host);
            break;
        case 4:
            m->hosts[host].cut = true;
            break;
        case 5:
        case 6:
            m->hosts[host].cut = false;
            break;
        default:
            break;
        }
        for (int i = 0; i < HOSTS; i++)
            beat(m, i);
        for (int i = 0; i < HOSTS; i++)
            lead(m, i);
        for (int i = 0; i < HOSTS; i++)
            gather(m, i);
    }
}

static void no_two_attempts_run_at_once_whoever_dies(void) {
    struct model m = {0};
    srand(11);
    for (int i = 0; i < RUNS; i++)
        run(&m);
    CU_ASSERT_EQUAL(m.doubles, 0);
    /* It would prove nothing if nobody ever went on, or only after a lease. */
    CU_ASSERT(m.follows > RUNS / 10);
    CU_ASSERT(m.quick > RUNS / 10);
}

/* A spare's loss raises no fence, and it may be the next master, with ranks or without. */
static void nor_where_spares_take_the_places_of_the_dead(void) {
    for (int spares = 1; spares < HOSTS - 1; spares++) {
        struct model m = {.spares = spares};
        srand(13);
        for (int i = 0; i < RUNS / 4; i++)
            run(&m);
        CU_ASSERT_EQUAL(m.doubles, 0);
        CU_ASSERT(m.filled > RUNS / 40);
        CU_ASSERT(m.follows > RUNS / 40);
    }
}

/* The model would see it. */
static void a_reset_proves_no_end(void) {
    struct model m = {.trusts_resets = true};
    srand(11);
    for (int i = 0; i < RUNS / 10; i++)
        run(&m);
    CU_ASSERT(m.doubles > 0);
}

UNIT_SUITE("outcome.fence_model", UNIT(no_two_attempts_run_at_once_whoever_dies),
           UNIT(nor_where_spares_take_the_places_of_the_dead), UNIT(a_reset_proves_no_end))
