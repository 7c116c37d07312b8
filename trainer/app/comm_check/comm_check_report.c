#include "trainer/app/comm_check/comm_check_report.h"

#include "common/json/json.h"
#include "common/str.h"
#include "trainer/app/comm_check/reference_rates.h"

#include <stdio.h>

/* Both forms are written on rank 0 from the same findings (command_check_comm.c). The text lists
 * hosts, pairs and sizes in the order in which they were measured. The JSON is also read by a
 * program: a scaling report takes the all-reduces among all ranks from it
 * (common/scaling/comm_reading.c), so its members stay as they are.
 *
 * Rates are bus bandwidths throughout, in GB of 10^9 bytes in the text and in bytes a second in
 * JSON. Sizes of messages are powers of two, and are printed in KiB and MiB. */

/* The pairs of eight hosts. Of more pairs only bad ones are printed in the text; JSON has all that
 * were tested. */
enum { PAIRS_SHOWN = 28 };

/* Names of the kinds, indexed by enum reducer_kind. */
static const char *const KINDS[] = {"MPI", "NCCL"};

/* --- text ------------------------------------------------------------------------------------- */

/* "8 B", "32 KiB", "16 MiB" */
static const char *size_text(uint64_t bytes, char text[32]) {
    if (bytes >= 1 << 20)
        (void)snprintf(text, 32, "%llu MiB", (unsigned long long)(bytes >> 20));
    else if (bytes >= 1 << 10)
        (void)snprintf(text, 32, "%llu KiB", (unsigned long long)(bytes >> 10));
    else
        (void)snprintf(text, 32, "%llu B", (unsigned long long)bytes);
    return text;
}

/* Returns the published figure for this size and type of machine, or NULL. They are all of NCCL,
 * so MPI has none. */
static const struct reference_rate *reference_of(const struct comm_check_report *r,
                                                 const struct measurement *m) {
    return r->check->kind == REDUCER_NCCL ? reference_rates_find(r->instance_type, m->bytes) : NULL;
}

/* Adds size, time and bus bandwidth in columns, without an end of line. The bandwidth, not the
 * time, is comparable between sizes and numbers of ranks. A wrong sum shows in the row of the
 * measurement that had it. */
static int add_measurement(const struct measurement *m, struct buf *ret, struct error *err) {
    char size[32];
    return buf_printf(ret, err, "%8s  %10.1f us  %8.3g GB/s%s", size_text(m->bytes, size),
                      m->seconds * 1e6, measurement_bus_rate(m) / 1e9,
                      m->wrong > 0 ? "  wrong sums" : "");
}

/* A host with a single rank has no all-reduce within it, and no line. */
static int add_hosts(const struct comm_check *c, struct buf *ret, struct error *err) {
    for (int i = 0; i < c->host_count; i++)
        if (c->hosts[i].within.ranks > 1 && (buf_printf(ret, err, "within %s, %d ranks  ",
                                                        c->hosts[i].name, c->hosts[i].ranks) != 0 ||
                                             add_measurement(&c->hosts[i].within, ret, err) != 0 ||
                                             buf_add_text(ret, "\n", err) != 0))
            return -1;
    return 0;
}

/* The source of published figures is printed once, below the rows. It is that of the last row
 * that has one. */
static int add_sizes(const struct comm_check_report *r, struct buf *ret, struct error *err) {
    const struct comm_check *c = r->check;
    const char *source = NULL;
    if (buf_printf(ret, err, "among all %d ranks\n", comm_size(c->comm)) != 0)
        return -1;
    for (size_t i = 0; i < c->size_count; i++) {
        const struct reference_rate *known = reference_of(r, &c->sizes[i]);
        if (buf_add_text(ret, "  ", err) != 0 || add_measurement(&c->sizes[i], ret, err) != 0)
            return -1;
        if (known != NULL &&
            buf_printf(ret, err, "   published for %d x %s: %.1f us, %.3g GB/s", known->hosts,
                       known->instance_type, known->microseconds, known->bus_rate) != 0)
            return -1;
        if (buf_add_text(ret, "\n", err) != 0)
            return -1;
        source = known != NULL ? known->source : source;
    }
    return source != NULL ? buf_printf(ret, err, "  published: %s\n", source) : 0;
}

/* The latency comes first, then the long message, by which a pair is judged slow. */
static int add_pair(const struct comm_check *c, const struct pair_result *p, struct buf *ret,
                    struct error *err) {
    if (buf_printf(ret, err, "  %-5s  %s %s  %.1f us  ", pair_state_name(p->state),
                   c->hosts[p->a].name, c->hosts[p->b].name, p->latency.seconds * 1e6) != 0 ||
        add_measurement(&p->transfer, ret, err) != 0)
        return -1;
    return p->state == PAIR_SLOW
               ? buf_printf(ret, err, "  %.2g %% of what other pairs reach\n", 100 * p->share)
               : buf_add_text(ret, "\n", err);
}

/* Pairs that did not fit into the time are neither good nor bad: only their number is printed. */
static int add_pairs(const struct comm_check *c, struct buf *ret, struct error *err) {
    const bool all = c->pair_count <= PAIRS_SHOWN;
    if (c->pair_count > 0 &&
        buf_printf(ret, err, "%zu pairs of hosts: time of %d bytes, then of a long message%s\n",
                   c->pair_count - c->pairs_left_out, MEASURE_LATENCY_BYTES,
                   all ? "" : "; bad ones alone are listed") != 0)
        return -1;
    for (size_t i = 0; i < c->pair_count; i++)
        if (c->pairs[i].tested && (all || c->pairs[i].state != PAIR_OK) &&
            add_pair(c, &c->pairs[i], ret, err) != 0)
            return -1;
    return c->pairs_left_out == 0
               ? 0
               : buf_printf(ret, err, "  %zu more pairs were not tested for lack of time\n",
                            c->pairs_left_out);
}

/* The last line is the verdict, so that it is the one that stays in sight. The exit code decides
 * which it is, as it covers sums and pairs alike. */
int comm_check_report_text(const struct comm_check_report *r, struct buf *ret, struct error *err) {
    const struct comm_check *c = r->check;
    if (buf_printf(ret, err,
                   "all-reduce of f32 by %s: %d host%s, %d ranks; time of one and its bus "
                   "bandwidth\n",
                   r->library, c->host_count, STR_PLURAL(c->host_count), comm_size(c->comm)) != 0 ||
        add_hosts(c, ret, err) != 0 || add_pairs(c, ret, err) != 0 || add_sizes(r, ret, err) != 0)
        return -1;
    return r->code == 0 ? buf_add_text(ret, "all sums are right, and no pair is slow\n", err)
                        : buf_printf(ret, err, "bad: %s\n", r->verdict);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Here and below a failed allocation makes NULL, which json_pack does not accept in turn. The
 * error thus reaches the whole report. */
static json_t *measurement_json(const struct measurement *m) {
    return json_pack("{s:I, s:i, s:i, s:f, s:f, s:I}", "bytes", (json_int_t)m->bytes, "ranks",
                     (int)m->ranks, "times", (int)m->times, "microseconds", m->seconds * 1e6,
                     "bus_bytes_per_second", measurement_bus_rate(m), "wrong",
                     (json_int_t)m->wrong);
}

static json_t *hosts_json(const struct comm_check *c) {
    json_t *list = json_array();
    for (int i = 0; i < c->host_count; i++) {
        json_t *host = json_pack("{s:o, s:i}", "name", json_string_any(c->hosts[i].name), "ranks",
                                 c->hosts[i].ranks);
        if (c->hosts[i].within.ranks > 1)
            (void)json_object_set_new(host, "within", measurement_json(&c->hosts[i].within));
        (void)json_array_append_new(list, host);
    }
    return list;
}

/* A published figure is a member of the size that it belongs to, in the units of the measured
 * one. */
static json_t *sizes_json(const struct comm_check_report *r) {
    json_t *list = json_array();
    for (size_t i = 0; i < r->check->size_count; i++) {
        const struct reference_rate *known = reference_of(r, &r->check->sizes[i]);
        json_t *size = measurement_json(&r->check->sizes[i]);
        if (known != NULL)
            (void)json_object_set_new(
                size, "published",
                json_pack("{s:s, s:i, s:f, s:f, s:s}", "instance_type", known->instance_type,
                          "hosts", known->hosts, "microseconds", known->microseconds,
                          "bus_bytes_per_second", known->bus_rate * 1e9, "source", known->source));
        (void)json_array_append_new(list, size);
    }
    return list;
}

static json_t *pairs_json(const struct comm_check *c) {
    json_t *list = json_array();
    for (size_t i = 0; i < c->pair_count; i++) {
        const struct pair_result *p = &c->pairs[i];
        if (p->tested)
            (void)json_array_append_new(list,
                                        json_pack("{s:[o, o], s:s, s:f, s:o, s:o}", "hosts",
                                                  json_string_any(c->hosts[p->a].name),
                                                  json_string_any(c->hosts[p->b].name), "state",
                                                  pair_state_name(p->state), "share", p->share,
                                                  "latency", measurement_json(&p->latency),
                                                  "transfer", measurement_json(&p->transfer)));
    }
    return list;
}

/* One object, the whole report. "code" and "verdict" are those of the process; `bad_host` is
 * null unless a single host is in all bad pairs. */
int comm_check_report_json(const struct comm_check_report *r, struct buf *ret, struct error *err) {
    const struct comm_check *c = r->check;
    cleanup_json json_t *report = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:i, s:o}", "over", KINDS[c->kind], "library",
        json_string_any(r->library), "hosts", hosts_json(c), "pairs", pairs_json(c), "sizes",
        sizes_json(r), "pairs_not_tested", (json_int_t)c->pairs_left_out, "bad_host",
        c->bad_host >= 0 ? json_string_any(c->hosts[c->bad_host].name) : json_null(), "code",
        r->code, "verdict", json_string_any(r->verdict));
    if (report == NULL)
        return error_no_memory(err, "JSON");
    return json_add_text(report, ret, err);
}
