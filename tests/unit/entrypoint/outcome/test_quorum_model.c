/* The rule of views as a whole (outcome/quorum.h): masters propose, hosts take, links break
 * anywhere, hosts come back, with all that they know or with nothing. */
#include "entrypoint/outcome/quorum.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static struct host_set set_of(unsigned bits) {
    return (struct host_set){.words = {bits}};
}

static struct quorum ledger_of(unsigned hosts) {
    return (struct quorum){
        .committed = {.number = 1, .master = 0, .hosts = set_of((1U << hosts) - 1)}};
}

static bool has(unsigned bits, unsigned host) {
    return (bits >> host & 1) != 0;
}

/* --- every way in which one view may follow a smaller one, and then every cut --------------------
 *
 * View 2 is committed. Its master has lost some of its hosts, offers view 3 to those that are left
 * and to some that are back, and some of these have taken it when all links break. */

enum { CUT_HOSTS_MAX = 5 };

struct cut {
    unsigned hosts;
    unsigned second; /* of view 2 */
    unsigned master; /* of both */
    unsigned stayed; /* with it, and counted */
    unsigned back;   /* on view 3, and not counted */
    unsigned forgot; /* of these */
    unsigned took;   /* view 3 */
    unsigned told;   /* that all have */
    struct quorum quorum[CUT_HOSTS_MAX];
};

static struct view third(const struct cut *c) {
    return (struct view){.number = 3, .master = c->master, .hosts = set_of(c->stayed | c->back)};
}

static void fill(struct cut *c) {
    const struct view next = third(c);
    for (unsigned i = 0; i < c->hosts; i++) {
        struct quorum *l = &c->quorum[i];
        *l = ledger_of(c->hosts);
        if (has(c->second, i) && !has(c->forgot, i))
            l->committed =
                (struct view){.number = 2, .master = c->master, .hosts = set_of(c->second)};
        if (has(c->took, i))
            CU_ASSERT(quorum_take(l, &next));
        if (has(c->told, i))
            CU_ASSERT(quorum_commit(l, 3));
    }
}

/* Whether those in PART may go on. The old master counts as it has; a new one those that remember,
 * which are those that have heard of a committed view. */
static bool may(const struct cut *c, unsigned part) {
    struct quorum all;
    bool complete = c->took == (c->stayed | c->back);
    unsigned counted = part & ~(complete ? 0 : c->back);
    struct host_set set = set_of(counted);
    if (has(part, c->master)) {
        if (quorum_allows_on(&c->quorum[c->master], &set, c->master, 2))
            return true;
        part &= ~(1U << c->master); /* it is out */
    }
    counted = part & ~(c->forgot & ~c->told);
    if (counted == 0)
        return false;
    set = set_of(counted);
    bool first = true;
    for (unsigned i = 0; i < c->hosts; i++) {
        if (!has(counted, i))
            continue;
        if (first)
            all = c->quorum[i];
        quorum_learn(&all, &c->quorum[i]);
        first = false;
    }
    return quorum_allows(&all, &set);
}

static unsigned try_cuts(struct cut *c) {
    bool right[1U << CUT_HOSTS_MAX];
    unsigned all = (1U << c->hosts) - 1;
    unsigned parts = 0;
    fill(c);
    for (unsigned part = 0; part <= all; part++) {
        right[part] = may(c, part);
        parts += right[part];
    }
    for (unsigned one = 1; one <= all; one++)
        for (unsigned other = all & ~one; right[one] && other != 0;
             other = (other - 1) & all & ~one)
            CU_ASSERT_FALSE(right[other]);
    return parts;
}

static unsigned try_takers(struct cut *c) {
    unsigned next = c->stayed | c->back;
    unsigned parts = 0;
    for (unsigned took = next;; took = (took - 1) & next) {
        c->took = took;
        c->told = 0;
        if (has(took, c->master))
            parts += try_cuts(c);
        /* The first host to learn that all have taken it is the master. */
        for (unsigned told = next; took == next && told != 0; told = (told - 1) & next) {
            c->told = told;
            if (has(told, c->master))
                parts += try_cuts(c);
        }
        if (took == 0)
            return parts;
    }
}

static unsigned try_rolls(struct cut *c) {
    unsigned others = ((1U << c->hosts) - 1) & ~c->stayed;
    unsigned parts = 0;
    for (unsigned back = others;; back = (back - 1) & others) {
        for (unsigned forgot = back;; forgot = (forgot - 1) & back) {
            c->back = back;
            c->forgot = forgot;
            /* To save time, with five hosts either all that are back have forgotten or none has. */
            if (c->hosts < 5 || forgot == 0 || forgot == back)
                parts += try_takers(c);
            if (forgot == 0)
                break;
        }
        if (back == 0)
            return parts;
    }
}

/* View 2 is of hosts that had the right by view 1. */
static unsigned try_hosts(unsigned hosts, unsigned second) {
    const struct quorum before = ledger_of(hosts);
    const struct host_set whole = set_of(second);
    unsigned parts = 0;
    if (!quorum_allows(&before, &whole))
        return 0;
    for (unsigned master = 0; master < hosts; master++)
        for (unsigned stayed = second; has(second, master) && stayed != 0;
             stayed = (stayed - 1) & second) {
            struct cut c = {.hosts = hosts, .second = second, .master = master, .stayed = stayed};
            const struct view view = {.number = 2, .master = master, .hosts = set_of(second)};
            const struct host_set set = set_of(stayed);
            if (has(stayed, master) && view_allows(&view, &set))
                parts += try_rolls(&c);
        }
    return parts;
}

static void of_two_parts_never_both_go_on_when_rolls_grow(void) {
    for (unsigned hosts = 1; hosts <= 4; hosts++)
        for (unsigned second = 1; second < 1U << hosts; second++) {
            const struct quorum before = ledger_of(hosts);
            const struct host_set set = set_of(second);
            CU_ASSERT_EQUAL(try_hosts(hosts, second) > 0, quorum_allows(&before, &set));
        }
    CU_ASSERT(try_hosts(5, 0x1f) > 0);
    CU_ASSERT(try_hosts(5, 0x07) > 0);
}

/* --- a walk at random through all that may happen, again and again ---------------------------- */

enum { MODEL_HOSTS = 5, MODEL_STEPS = 100, MODEL_RUNS = 40000 };

struct model {
    struct quorum quorum[MODEL_HOSTS];
    int master_of[MODEL_HOSTS]; /* the host that this one is linked to; itself: it is a master */
    struct view offered[MODEL_HOSTS];
    unsigned took[MODEL_HOSTS]; /* bits, by master: the hosts that have taken its offer */
    bool offers[MODEL_HOSTS];
    bool acts[MODEL_HOSTS];      /* its view is taken by all, and it starts ranks */
    unsigned first[MODEL_HOSTS]; /* as a master: the number of its first view; 0: none yet */
    bool mute[MODEL_HOSTS];      /* its master does not count it */
    bool forgot[MODEL_HOSTS];    /* it was started anew, and has heard of no committed view */
    unsigned taken_back[2];      /* by committed views: of those that know all, and nothing */
};

static unsigned counted(const struct model *m, int master) {
    unsigned bits = 0;
    for (int i = 0; i < MODEL_HOSTS; i++)
        if (m->master_of[i] == master && !m->mute[i])
            bits |= 1U << i;
    return bits;
}

static bool allows(const struct model *m, int master, const struct quorum *l) {
    const struct host_set part = set_of(counted(m, master));
    if (m->first[master] == 0)
        return quorum_allows(l, &part);
    return quorum_allows_on(l, &part, (unsigned)master, m->first[master]);
}

/* A master acts as long as, by what it knows, enough hosts still follow it. */
static bool is_acting(const struct model *m, int master) {
    return m->master_of[master] == master && m->acts[master] &&
           allows(m, master, &m->quorum[master]);
}

/* Those that are not counted have a part in the view where its master has the right without them.
 */
static unsigned take_back(struct model *m, int master, unsigned number) {
    unsigned bits = 0;
    for (int i = 0; i < MODEL_HOSTS; i++) {
        struct quorum both = m->quorum[master];
        if (m->master_of[i] != master || !m->mute[i])
            continue;
        if (!m->forgot[i])
            quorum_learn(&both, &m->quorum[i]);
        if (quorum_last(&m->quorum[i])->number >= number || !allows(m, master, &both))
            continue;
        m->quorum[master] = both;
        bits |= 1U << i;
    }
    return bits;
}

static void step_offer(struct model *m, int master) {
    if (m->master_of[master] != master || m->forgot[master])
        return;
    for (int i = 0; i < MODEL_HOSTS; i++)
        if (m->master_of[i] == master && !m->mute[i])
            quorum_learn(&m->quorum[master], &m->quorum[i]);
    m->acts[master] = false; /* its ranks have ended */
    m->offers[master] = false;
    if (!allows(m, master, &m->quorum[master]))
        return;
    unsigned number = quorum_last(&m->quorum[master])->number + 1;
    unsigned bits = take_back(m, master, number) | counted(m, master);
    m->offered[master] =
        (struct view){.number = number, .master = (unsigned)master, .hosts = set_of(bits)};
    if (m->first[master] == 0)
        m->first[master] = number;
    m->took[master] = 0;
    m->offers[master] = true;
}

static void step_take(struct model *m, int host) {
    int master = m->master_of[host];
    if (m->offers[master] && host_set_has(&m->offered[master].hosts, (size_t)host) &&
        quorum_take(&m->quorum[host], &m->offered[master]))
        m->took[master] |= 1U << host;
    const struct host_set took = set_of(m->took[master]);
    if (!m->offers[master] || memcmp(&took, &m->offered[master].hosts, sizeof(took)) != 0)
        return;
    CU_ASSERT(quorum_commit(&m->quorum[master], m->offered[master].number));
    for (int i = 0; i < MODEL_HOSTS; i++) {
        if (m->master_of[i] != master || !m->mute[i] || !host_set_has(&took, (size_t)i))
            continue;
        m->mute[i] = false;
        m->taken_back[m->forgot[i]]++;
    }
    m->acts[master] = true;
    m->offers[master] = false;
}

static void be_alone(struct model *m, int host) {
    m->master_of[host] = host;
    m->mute[host] = m->forgot[host];
    m->first[host] = 0;
    m->acts[host] = m->offers[host] = false;
}

/* A host leaves its master for another one, or becomes one, and forgets nothing. The old master no
 * longer counts it, which the lease ensures. The host follows the other master, or asks that one to
 * take it back. */
static void step_leave(struct model *m, int host, int to) {
    for (int i = 0; i < MODEL_HOSTS; i++)
        if (m->master_of[i] == host && host != to)
            be_alone(m, i);
    be_alone(m, host);
    m->master_of[host] = to;
    m->mute[host] = m->forgot[host] || (host != to && rand() % 2 == 0);
    if (m->master_of[to] != to)
        be_alone(m, host);
}

/* The host is started anew. */
static void step_forget(struct model *m, int host) {
    step_leave(m, host, host);
    m->quorum[host] = ledger_of(MODEL_HOSTS);
    m->forgot[host] = true;
    be_alone(m, host);
    for (int i = 0; i < MODEL_HOSTS; i++)
        if (m->master_of[i] == host && i != host)
            be_alone(m, i);
}

static void step_read_outcome(struct model *m, int host) {
    int master = m->master_of[host];
    unsigned number = m->quorum[master].committed.number;
    if (!m->acts[master] || m->mute[host] || !quorum_commit(&m->quorum[host], number))
        return;
    m->forgot[host] = m->forgot[host] && number == 1;
}

static void two_masters_never_act_whatever_breaks(void) {
    srand(7);
    unsigned acted = 0;
    unsigned took_over = 0;
    unsigned remembered = 0;
    unsigned forgot = 0;
    for (int run = 0; run < MODEL_RUNS; run++) {
        struct model m = {0};
        for (int i = 0; i < MODEL_HOSTS; i++)
            m.quorum[i] = ledger_of(MODEL_HOSTS);
        m.acts[0] = true;
        for (int step = 0; step < MODEL_STEPS; step++) {
            int host = rand() % MODEL_HOSTS;
            switch (rand() % 12) {
            case 0:
                step_leave(&m, host, rand() % MODEL_HOSTS);
                break;
            case 1:
                step_offer(&m, host);
                break;
            case 3:
                if (rand() % 2 == 0)
                    step_forget(&m, host);
                break;
            case 2:
                step_read_outcome(&m, host);
                break;
            default:
                for (int i = 0; i < MODEL_HOSTS; i++)
                    if (i == host || rand() % 4 != 0)
                        step_take(&m, i);
            }
            int acting = 0;
            for (int i = 0; i < MODEL_HOSTS; i++) {
                acting += is_acting(&m, i);
                took_over += i > 0 && is_acting(&m, i);
            }
            CU_ASSERT(acting <= 1);
            acted += (unsigned)acting;
        }
        remembered += m.taken_back[0];
        forgot += m.taken_back[1];
    }
    /* It would prove nothing if nobody ever did. */
    CU_ASSERT(acted > MODEL_RUNS);
    CU_ASSERT(took_over > MODEL_RUNS / 50);

    CU_ASSERT(remembered > MODEL_RUNS / 100);
    CU_ASSERT(forgot > MODEL_RUNS / 200);
}

UNIT_SUITE("outcome.quorum_model", UNIT(of_two_parts_never_both_go_on_when_rolls_grow),
           UNIT(two_masters_never_act_whatever_breaks))
