#include "entrypoint/outcome/quorum.h"

#include "common/cleanup.h"
#include "common/json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* There are three layers: sets of hosts as bits, the rule itself (view_allows, quorum_allows_on),
 * and the list of views that a host knows. The list grows by what the host accepts and by what
 * others tell (quorum_take, quorum_learn). The rule never looks at time or at connections: the
 * caller says which hosts are a part.
 *
 * The list is short. A view that is committed makes all earlier ones irrelevant, so at most a few
 * wait at the same time. A view for which the list has no room is not forgotten silently: `lost`
 * holds the number of the last such view. The host has no quorum until a later view is committed.
 * To be refused a quorum is safe; to be given one by mistake is not. */

/* A set is written as hexadecimal digits, sixteen for each word, and a NUL. */
enum { WORD_BITS = 64, WORD_DIGITS = 16, SET_TEXT_SIZE = HOST_SET_WORDS * WORD_DIGITS + 1 };

/* --- sets ------------------------------------------------------------------------------------- */

void host_set_add(struct host_set *s, size_t place) {
    s->words[place / WORD_BITS] |= UINT64_C(1) << place % WORD_BITS;
}

void host_set_remove(struct host_set *s, size_t place) {
    s->words[place / WORD_BITS] &= ~(UINT64_C(1) << place % WORD_BITS);
}

/* A place beyond all hosts is in no set, so that a number from a message can be asked for. */
bool host_set_has(const struct host_set *s, size_t place) {
    return place < CLUSTER_HOSTS_MAX && (s->words[place / WORD_BITS] >> place % WORD_BITS & 1) != 0;
}

/* Bits beyond the job's hosts are never set (is_within), so they need no mask. */
size_t host_set_common(const struct host_set *a, const struct host_set *b) {
    size_t count = 0;
    for (size_t i = 0; i < HOST_SET_WORDS; i++)
        count += (size_t)__builtin_popcountll(a->words[i] & b->words[i]);
    return count;
}

size_t host_set_count(const struct host_set *s) {
    return host_set_common(s, s);
}

/* --- the rule --------------------------------------------------------------------------------- */

/* More than half, or exactly half with the view's master: two such parts always share a host. An
 * empty view allows nothing. */
bool view_allows(const struct view *r, const struct host_set *part) {
    size_t all = host_set_count(&r->hosts);
    size_t here = host_set_common(&r->hosts, part);
    return 2 * here > all || (2 * here == all && all > 0 && host_set_has(part, r->master));
}

/* First a view must not have been dropped since the committed one. Then each accepted view needs
 * its quorum, too, but for those that this master has offered itself and that no other host acts
 * by. */
bool quorum_allows_on(const struct quorum *l, const struct host_set *part, unsigned master,
                      unsigned first) {
    if (l->lost > l->committed.number || !view_allows(&l->committed, part))
        return false;
    for (size_t i = 0; i < l->accepted_count; i++) {
        const struct view *r = &l->accepted[i];
        bool own = r->master == master && r->number >= first;
        if (!own && !view_allows(r, part))
            return false;
    }
    return true;
}

/* A place that no host has makes no view its own. */
bool quorum_allows(const struct quorum *l, const struct host_set *part) {
    return quorum_allows_on(l, part, CLUSTER_HOSTS_MAX, 0);
}

/* --- learning of views ------------------------------------------------------------------------ */

/* Keeps the order of the others. */
static void drop_settled(struct quorum *l) {
    size_t kept = 0;
    for (size_t i = 0; i < l->accepted_count; i++)
        if (l->accepted[i].number > l->committed.number)
            l->accepted[kept++] = l->accepted[i];
    l->accepted_count = kept;
}

/* Two masters may offer different views with one number, and both may count. */
static bool is_same(const struct view *a, const struct view *b) {
    return a->number == b->number && a->master == b->master &&
           memcmp(&a->hosts, &b->hosts, sizeof(a->hosts)) == 0;
}

/* The view with the lowest number; the list is not sorted. */
static struct view *first_taken(struct quorum *l) {
    struct view *first = l->accepted;
    for (size_t i = 1; i < l->accepted_count; i++)
        if (l->accepted[i].number < first->number)
            first = &l->accepted[i];
    return first;
}

/* Adds a view. When the list is full, the oldest is dropped: once a later view is committed, those
 * before it no longer matter. The number of what is dropped is kept, whichever of the two it is. */
static void add(struct quorum *l, const struct view *r) {
    for (size_t i = 0; i < l->accepted_count; i++)
        if (is_same(&l->accepted[i], r))
            return;
    if (l->accepted_count < QUORUM_ACCEPTED_MAX) {
        l->accepted[l->accepted_count++] = *r;
        return;
    }
    struct view *first = first_taken(l);
    unsigned lost = r->number < first->number ? r->number : first->number;
    if (lost > l->lost)
        l->lost = lost;
    if (r->number > first->number)
        *first = *r;
}

/* Called by a host that is about to promise a view: a number that is not above all others would
 * allow two promises for one attempt. */
bool quorum_take(struct quorum *l, const struct view *r) {
    if (r->number <= quorum_last(l)->number)
        return false;
    add(l, r);
    return true;
}

/* Returns true, too, if that view is committed already. */
bool quorum_commit(struct quorum *l, unsigned number) {
    for (size_t i = 0; i < l->accepted_count; i++)
        if (l->accepted[i].number == number) {
            l->committed = l->accepted[i];
            drop_settled(l);
            return true;
        }
    return l->committed.number == number;
}

/* A later committed view replaces this host's own and settles earlier ones. Views that are only
 * accepted elsewhere bind this host as well: others may continue by them. */
void quorum_learn(struct quorum *l, const struct quorum *other) {
    if (other->committed.number > l->committed.number) {
        l->committed = other->committed;
        drop_settled(l);
    }
    if (other->lost > l->lost)
        l->lost = other->lost;
    for (size_t i = 0; i < other->accepted_count; i++)
        if (other->accepted[i].number > l->committed.number)
            add(l, &other->accepted[i]);
}

/* Accepted views are later than the committed one, which counts only without any. */
const struct view *quorum_last(const struct quorum *l) {
    const struct view *last = &l->committed;
    for (size_t i = 0; i < l->accepted_count; i++)
        if (l->accepted[i].number > last->number)
            last = &l->accepted[i];
    return last;
}

/* The number of places from R's master to PLACE, in the ring of all places. */
static size_t distance(const struct view *r, size_t place) {
    return (place + CLUSTER_HOSTS_MAX - r->master) % CLUSTER_HOSTS_MAX;
}

/* The lost master, and the hosts that come between it and PLACE, are removed. */
void quorum_candidates(const struct quorum *l, size_t place, struct host_set *ret) {
    const struct view *last = quorum_last(l);
    *ret = last->hosts;
    for (size_t i = 0; i < distance(last, place); i++)
        host_set_remove(ret, (last->master + i) % CLUSTER_HOSTS_MAX);
}

/* AFTER: the host that was tried last. Every host computes the same answer from the same view, so
 * no election is needed. -1 means that the next host could not have a quorum; those after it have
 * fewer hosts still. */
int quorum_next_master(const struct quorum *l, size_t after) {
    const struct view *last = quorum_last(l);
    struct host_set part;
    size_t from = host_set_has(&last->hosts, after) ? distance(last, after) : 0;
    for (size_t i = from + 1; i < CLUSTER_HOSTS_MAX; i++) {
        size_t place = (last->master + i) % CLUSTER_HOSTS_MAX;
        if (!host_set_has(&last->hosts, place))
            continue;
        quorum_candidates(l, place, &part);
        return quorum_allows(l, &part) ? (int)place : -1;
    }
    return -1;
}

/* --- on the wire ------------------------------------------------------------------------------ */

/* The hosts as one text: JSON numbers hold no 64 bits exactly. */
static json_t *view_json(const struct view *r) {
    char text[SET_TEXT_SIZE];
    for (size_t i = 0; i < HOST_SET_WORDS; i++)
        (void)snprintf(text + i * WORD_DIGITS, WORD_DIGITS + 1, "%016" PRIx64, r->hosts.words[i]);
    return json_pack("{s:I, s:I, s:s}", "number", (json_int_t)r->number, "master",
                     (json_int_t)r->master, "hosts", text);
}

/* NULL rather than a list with a gap, as a missing view is a missing condition. */
json_t *quorum_json(const struct quorum *l) {
    json_t *taken = json_array();
    for (size_t i = 0; i < l->accepted_count; i++)
        if (json_array_append_new(taken, view_json(&l->accepted[i])) != 0) {
            json_decref(taken); /* a host that omits a view may give away its right to continue */
            return NULL;
        }
    return json_pack("{s:o, s:o, s:I}", "sure", view_json(&l->committed), "taken", taken, "lost",
                     (json_int_t)l->lost);
}

/* No host at PLACES or beyond. */
static bool is_within(const struct host_set *s, size_t places) {
    for (size_t i = places; i < CLUSTER_HOSTS_MAX; i++)
        if (host_set_has(s, i))
            return false;
    return true;
}

/* The master must be one of the view's hosts: the rule for exactly half relies on it. */
static int view_parse(const json_t *object, size_t places, struct view *ret, struct error *err) {
    int64_t number = 0;
    int64_t master = -1;
    const char *text = NULL;
    *ret = (struct view){0};
    if (json_member_int(object, "view", "number", &number, err) != 0 ||
        json_member_int(object, "view", "master", &master, err) != 0 ||
        json_member_string(object, "view", "hosts", &text, err) != 0)
        return -1;
    if (text == NULL || strlen(text) != SET_TEXT_SIZE - 1 ||
        text[strspn(text, "0123456789abcdef")] != '\0')
        return error_set(err, EXIT_CODE_CONFIG, "a view with unreadable hosts");
    for (size_t i = 0; i < HOST_SET_WORDS; i++) {
        char word[WORD_DIGITS + 1];
        (void)snprintf(word, sizeof(word), "%.*s", WORD_DIGITS, text + i * WORD_DIGITS);
        ret->hosts.words[i] = strtoull(word, NULL, 16);
    }
    if (number < 1 || number > INT32_MAX || master < 0 || master >= CLUSTER_HOSTS_MAX ||
        !host_set_has(&ret->hosts, (size_t)master) || !is_within(&ret->hosts, places))
        return error_set(err, EXIT_CODE_CONFIG, "a view with an impossible number, master or host");
    ret->number = (unsigned)number;
    ret->master = (unsigned)master;
    return 0;
}

/* A message of another host, checked completely. Views that the committed one has settled are
 * dropped. */
int quorum_parse(const json_t *object, size_t places, struct quorum *ret, struct error *err) {
    const json_t *taken = json_object_get(object, "taken");
    int64_t lost = -1;
    *ret = (struct quorum){0};
    if (json_member_int(object, "quorum", "lost", &lost, err) != 0 ||
        view_parse(json_object_get(object, "sure"), places, &ret->committed, err) != 0)
        return -1;
    if (lost < 0 || lost > INT32_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "a quorum without the number of lost views");
    ret->lost = (unsigned)lost;
    if (json_array_size(taken) > QUORUM_ACCEPTED_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "a quorum with too many views");
    for (size_t i = 0; i < json_array_size(taken); i++) {
        if (view_parse(json_array_get(taken, i), places, &ret->accepted[i], err) != 0)
            return -1;
        ret->accepted_count++;
    }
    drop_settled(ret);
    return 0;
}
