/* Rows of `ringmaster check` about the network between hosts. */
#include "entrypoint/host/preflight/network_check.h"
#include "entrypoint/master/preflight/check_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each host has sent one list of `ways`, its connections to others with the time of a round trip.
 * It has also measured what it could send to its neighbour (host/preflight/network_check.c).
 * Numbers of hosts in these are positions in HOSTS, and are checked before they are used.
 *
 * A connection that fails has a row of its own, up to TOLD_MAX of them, since the two ends are what
 * one has to know. Connections that work are summed up in one row. Bandwidth is judged by
 * comparison alone: what is normal depends on the network, so half of the median is the limit. */

/* Failed connections that are listed one by one. */
enum { TOLD_MAX = 16 };

/* Returns an empty text for an index that no host has. */
static const char *name_of(const json_t *hosts, size_t index) {
    return check_text(json_array_get(hosts, index), NULL, "name");
}

/* The hosts of a row about one direction, the sender first. */
static json_t *pair(const json_t *hosts, size_t from, size_t to) {
    return json_pack("[s, s]", name_of(hosts, from), name_of(hosts, to));
}

/* A row that holds for all hosts has an example in its value. */
static json_t *everyone(const json_t *hosts) {
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(hosts); i++)
        (void)json_array_append_new(list, json_string(name_of(hosts, i)));
    return list;
}

/* What the connections of all hosts have in common so far. */
struct ways {
    size_t good;
    size_t bad;
    int64_t longest;
    size_t from, to; /* of the longest */
};

/* A bad row: ranks need every connection that was tried. */
static void add_bad_way(const json_t *hosts, size_t from, size_t to, const char *why,
                        json_t *rows) {
    char value[CHECK_VALUE_SIZE];
    (void)snprintf(value, sizeof(value), "%.64s does not reach %.64s: %.80s", name_of(hosts, from),
                   name_of(hosts, to), why);
    check_add(rows, CHECK_BAD, "reach", value, pair(hosts, from, to),
              "allow all ports between the hosts of a job in firewalls and security groups",
              EXIT_CODE_NOT_READY);
}

/* A way is [host, ns, why]: no time means that there was no answer, and WHY tells the reason. */
static void take_way(const json_t *hosts, size_t from, const json_t *way, struct ways *w,
                     json_t *rows) {
    json_int_t to = json_integer_value(json_array_get(way, 0));
    json_int_t trip = json_integer_value(json_array_get(way, 1));
    const char *why = json_string_value(json_array_get(way, 2));
    if (to < 0 || (size_t)to >= json_array_size(hosts))
        return;
    if (trip > 0) {
        w->good++;
        if (trip > w->longest) {
            w->longest = trip;
            w->from = from;
            w->to = (size_t)to;
        }
    } else if (w->bad++ < TOLD_MAX) {
        add_bad_way(hosts, from, (size_t)to, why != NULL ? why : "", rows);
    }
}

/* Not every pair is tried among many hosts; the row then says how many there are, and which were.
 */
static void add_reach(const json_t *hosts, json_t *rows) {
    /* The ways of all hosts are taken first, as the row about the good ones comes last. */
    struct ways w = {0};
    char value[3 * CHECK_VALUE_SIZE]; /* any number has room */
    const json_t *way = NULL;
    size_t k = 0;
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *network = json_object_get(json_array_get(hosts, i), "network");
        json_array_foreach(json_object_get(network, "ways"), k, way)
            take_way(hosts, i, way, &w, rows);
    }
    /* The rest is only counted: without hosts or advice. */
    if (w.bad > TOLD_MAX) {
        (void)snprintf(value, sizeof(value), "%zu more connections fail", w.bad - TOLD_MAX);
        check_add(rows, CHECK_BAD, "reach", value, json_array(), "", EXIT_CODE_NOT_READY);
    }
    if (w.good == 0)
        return;
    char all[64] = "";
    size_t count = json_array_size(hosts);
    /* Below that every pair was tried, which needs no word. */
    if (count > NETWORK_CHECK_NEIGHBOURS + 1)
        (void)snprintf(all, sizeof(all), " of %zu, %d neighbours a host and the first one,",
                       count * (count - 1), NETWORK_CHECK_NEIGHBOURS);
    (void)snprintf(value, sizeof(value),
                   "%zu connections%s the longest round trip %.3f ms: %.64s to %.64s", w.good,
                   all[0] != '\0' ? all : ",", (double)w.longest * 1e-6, name_of(hosts, w.from),
                   name_of(hosts, w.to));
    check_add(rows, CHECK_OK, "reach", value, everyone(hosts), "", EXIT_CODE_NOT_READY);
}

/* --- how fast ----------------------------------------------------------------------------------
 */

/* Bulk data from one host to the next, all hosts at once. -1: not known. */
struct flow {
    size_t from, to;
    double mbit; /* a second */
    int64_t path_mtu;
    int64_t resent;
};

/* Bytes in ns become Mbit/s. A host that did not measure has no flow; one of which nothing arrived
 * has a flow of 0. */
static bool read_flow(const json_t *hosts, size_t from, struct flow *ret) {
    const json_t *network = json_object_get(json_array_get(hosts, from), "network");
    int64_t to = check_number(network, "sent", "peer");
    int64_t bytes = check_number(network, "sent", "bytes");
    int64_t time = check_number(network, "sent", "time");
    if (to < 0 || (size_t)to >= json_array_size(hosts) || bytes < 0 || time <= 0)
        return false;
    *ret = (struct flow){.from = from,
                         .to = (size_t)to,
                         .mbit = (double)bytes * 8e3 / (double)time,
                         .path_mtu = check_number(network, "sent", "path_mtu"),
                         .resent = check_number(network, "sent", "resent")};
    return true;
}

/* Ascending. */
static int compare_flows(const void *a, const void *b) {
    const struct flow *first = a;
    const struct flow *second = b;
    return (first->mbit > second->mbit) - (first->mbit < second->mbit);
}

/* Short messages have passed where bulk data does not: on the way there is a link with a smaller
 * MTU that drops large packets without telling. Where it does tell, the path's MTU is below that of
 * the interface, which is a row of its own. */
static void add_flow(const json_t *hosts, const struct flow *f, double middle, json_t *rows) {
    char value[CHECK_VALUE_SIZE];
    /* The MTU of the sender's own interface. */
    int64_t mtu = check_number(json_array_get(hosts, f->from), "means", "mtu");
    if (f->mbit <= 0) {
        (void)snprintf(value, sizeof(value), "bulk data from %.64s does not arrive at %.64s",
                       name_of(hosts, f->from), name_of(hosts, f->to));
        check_add(rows, CHECK_BAD, "bandwidth", value, pair(hosts, f->from, f->to),
                  "short messages do: large packets are dropped on the way (check the MTU)",
                  EXIT_CODE_NOT_READY);
    } else if (f->mbit < middle / 2) {
        (void)snprintf(value, sizeof(value), "%.0f Mbit/s from %.64s to %.64s", f->mbit,
                       name_of(hosts, f->from), name_of(hosts, f->to));
        check_add(rows, CHECK_WARNING, "bandwidth", value, pair(hosts, f->from, f->to),
                  "less than half of the others' bandwidth: every step waits for it",
                  EXIT_CODE_NOT_READY);
    }
    if (f->path_mtu > 0 && mtu > 0 && f->path_mtu < mtu) {
        (void)snprintf(value, sizeof(value),
                       "packets of %" PRId64
                       " bytes from %.64s to %.64s, its interface has %" PRId64,
                       f->path_mtu, name_of(hosts, f->from), name_of(hosts, f->to), mtu);
        check_add(rows, CHECK_WARNING, "packets", value, pair(hosts, f->from, f->to),
                  "the network between them only passes smaller packets", EXIT_CODE_NOT_READY);
    }
}

/* Without memory for the list there is no row. */
static void add_bandwidth(const json_t *hosts, json_t *rows) {
    size_t count = 0;
    char value[CHECK_VALUE_SIZE];
    struct flow *flows = calloc(json_array_size(hosts) + 1, sizeof(*flows));
    for (size_t i = 0; flows != NULL && i < json_array_size(hosts); i++)
        count += read_flow(hosts, i, &flows[count]);
    if (count > 0) {
        qsort(flows, count, sizeof(*flows), compare_flows);
        /* The upper of the two in the middle, if their number is even. */
        double middle = flows[count / 2].mbit;
        for (size_t i = 0; i < count; i++)
            add_flow(hosts, &flows[i], middle, rows);
        const struct flow *least = &flows[0];
        (void)snprintf(value, sizeof(value),
                       "all hosts at once %.0f to %.0f Mbit/s, the least from %.64s to %.64s",
                       least->mbit, flows[count - 1].mbit, name_of(hosts, least->from),
                       name_of(hosts, least->to));
        check_add(rows, CHECK_OK, "bandwidth", value, everyone(hosts), "", EXIT_CODE_NOT_READY);
    }
    free(flows);
}

/* This is only a warning, as programs without MPI may run all the same. */
static void add_translations(const json_t *hosts, json_t *rows) {
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        char value[CHECK_VALUE_SIZE];
        const char *sends = check_text(json_array_get(hosts, i), NULL, "sends_from");
        if (sends[0] == '\0')
            continue;
        (void)snprintf(value, sizeof(value), "%.64s sends from %s and arrives from %s",
                       name_of(hosts, i), sends,
                       check_text(json_array_get(hosts, i), NULL, "arrives_from"));
        check_add(rows, CHECK_WARNING, "addresses", value, json_pack("[s]", name_of(hosts, i)),
                  "Open MPI drops such connections: let hosts reach each other untranslated (no "
                  "masquerade rule, no NAT), or name another network (RINGMASTER_INTERFACE)",
                  EXIT_CODE_CONFIG);
    }
}

/* A single host has no network to look at. */
void check_add_network(const json_t *hosts, json_t *rows) {
    if (json_array_size(hosts) < 2)
        return;
    add_reach(hosts, rows);
    add_translations(hosts, rows);
    add_bandwidth(hosts, rows);
}
