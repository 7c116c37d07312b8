#include "entrypoint/job/cluster/seats.h"

int seats_open(struct cluster *c, size_t count, struct error *err) {
    if (count >= c->count)
        return error_set(
            err, EXIT_CODE_CONFIG,
            "RINGMASTER_SPARES=%zu: the job has %zu host%s, which leaves none for ranks", count,
            c->count, c->count == 1 ? "" : "s");
    c->spares = count;
    for (size_t i = 0; i < c->count; i++) {
        c->hosts[i].seat = (unsigned)i;
        c->hosts[i].spare = i >= c->count - count;
    }
    return 0;
}

size_t seats_count(const struct cluster *c) {
    return c->count - c->spares;
}

size_t seats_spares_left(const struct cluster *c) {
    size_t left = 0;
    for (size_t i = 0; i < c->count; i++)
        left += c->hosts[i].spare && !c->hosts[i].gone;
    return left;
}

/* Returns the spare for a host with SLOTS, C->count if there is none. */
static size_t find_spare(const struct cluster *c, unsigned slots) {
    size_t found = c->count;
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_host *h = &c->hosts[i];
        if (!h->spare || h->gone)
            continue;
        if (h->slots == slots)
            return i;
        found = found == c->count ? i : found;
    }
    return found;
}

static void hand_over(struct cluster *c, size_t from, size_t to) {
    c->hosts[to].seat = c->hosts[from].seat;
    c->hosts[to].spare = false;
    c->hosts[from].spare = true;
}

static void seat_first(struct cluster *c) {
    size_t holder = cluster_host_of_rank(c, 0);
    unsigned own = c->hosts[0].seat;
    if (holder == 0)
        return;
    if (c->hosts[0].spare) {
        hand_over(c, holder, 0);
        return;
    }
    c->hosts[0].seat = c->hosts[holder].seat;
    c->hosts[holder].seat = own;
}

void seats_fill(struct cluster *c, bool first_leads) {
    if (c->spares == 0)
        return;
    for (size_t i = 0; i < c->count; i++) {
        size_t spare = find_spare(c, c->hosts[i].slots);
        if (c->hosts[i].gone && !c->hosts[i].spare && spare < c->count)
            hand_over(c, i, spare);
    }
    if (first_leads)
        seat_first(c);
}

json_t *seats_json(const struct cluster *c) {
    json_t *list = json_array();
    for (size_t i = 0; i < c->count; i++)
        if (!c->hosts[i].spare)
            (void)json_array_append_new(
                list, json_pack("[I, I]", (json_int_t)i, (json_int_t)c->hosts[i].seat));
    return list;
}

static void read_gone(struct cluster *c, const json_t *gone) {
    for (size_t i = 0; i < c->count; i++)
        c->hosts[i].gone = false;
    for (size_t i = 0; i < json_array_size(gone); i++) {
        json_int_t host = json_integer_value(json_array_get(gone, i));
        if (host > 0 && (uint64_t)host < c->count)
            cluster_drop(c, (size_t)host);
    }
}

void seats_read(struct cluster *c, const json_t *order) {
    const json_t *seats = json_object_get(order, "seats");
    read_gone(c, json_object_get(order, "gone"));
    if (c->spares == 0 || !json_is_array(seats))
        return;
    for (size_t i = 0; i < c->count; i++)
        c->hosts[i].spare = true;
    for (size_t i = 0; i < json_array_size(seats); i++) {
        const json_t *pair = json_array_get(seats, i);
        json_int_t host = json_integer_value(json_array_get(pair, 0));
        json_int_t seat = json_integer_value(json_array_get(pair, 1));
        if (host < 0 || (size_t)host >= c->count || seat < 0 || (size_t)seat >= c->count)
            continue;
        c->hosts[host].spare = false;
        c->hosts[host].seat = (unsigned)seat;
    }
}
