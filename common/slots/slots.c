#include "common/slots/slots.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/slots/slot_address.h"
#include "common/slots/slot_orders.h"
#include "common/system/stop_signal.h"

#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All ranks run the same round in the same order: rank 0 broadcasts its orders, each rank carries
 * out those for its own slots, waits a moment, and gathers the reports of all. Both steps are
 * collective, so a rank that left early would block the others: this is why a rank leaves by an
 * order, too.
 *
 * Only rank 0 decides, and it decides from reports that are one round old. slots_start() therefore
 * marks its slots as running before any rank has started something. Another design, in which rank 0
 * has a connection to each rank, would need a second network beside that of the job's program.
 *
 * A round takes at most about SLOTS_ROUND_MS, and less once a process here ends. A rank where
 * nothing ends waits out its time, so the job's round is as long as the longest of them. */

/* Orders hold a command line and variables for each job that starts; this bounds what a rank
 * allocates on the word of another. */
enum { ORDERS_MAX = 16 * 1024 * 1024 };

static const int64_t ROUND = SLOTS_ROUND_MS * CLOCK_MILLISECOND;

/* The GPUs of this host, by their device files. Neither a driver nor a library is asked, as both
 * may hang. Files such as /dev/nvidiactl and /dev/nvidia-uvm do not match, since a digit has to
 * follow. */
static int count_gpus(void) {
    glob_t found;
    int count = 0;
    if (glob("/dev/nvidia[0-9]*", 0, NULL, &found) == 0)
        count = (int)found.gl_pathc;
    globfree(&found);
    return count;
}

/* calloc() leaves every slot idle. On failure slots_done() frees what was allocated. */
static int allocate(struct slots *s, struct error *err) {
    const size_t own = (size_t)s->own_count, count = (size_t)s->count;
    s->own = calloc(own, sizeof(*s->own));
    s->folders = calloc(own, sizeof(*s->folders));
    s->reads = calloc(own, sizeof(*s->reads));
    s->mine = calloc(own, sizeof(*s->mine));
    s->reports = calloc(count, sizeof(*s->reports));
    s->addresses = calloc((size_t)s->group->size, sizeof(*s->addresses));
    s->orders = slot_orders_new();
    for (size_t i = 0; s->own != NULL && i < own; i++)
        s->own[i].pidfd = -1;
    return s->own == NULL || s->folders == NULL || s->reads == NULL || s->mine == NULL ||
                   s->reports == NULL || s->addresses == NULL || s->orders == NULL
               ? error_no_memory(err, "slots")
               : 0;
}

/* All ranks say where they are, in fixed-size texts, as gather() requires. A job of one rank needs
 * no address that other hosts could reach. */
static int exchange_addresses(struct slots *s, struct error *err) {
    char own[SLOTS_ADDRESS_SIZE] = "127.0.0.1";
    const char *master = getenv("MASTER_ADDR");
    if (s->group->size > 1)
        slot_address_own(master, own, sizeof(own));
    return s->group->gather(s->group->context, own, sizeof(own), s->addresses, err);
}

/* Several slots on one rank are for a job of one rank only, because a report's place in `reports`
 * is then rank * own_count + slot for all. GPUs are divided only where each slot of the host can
 * have one. */
int slots_open(struct slots *s, const struct slot_group *group, int own, struct error *err) {
    *s = (struct slots){.group = group, .own_count = own, .count = own * group->size};
    if (own < 1 || (own > 1 && group->size > 1) || s->count > SLOTS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%d slots on each of %d ranks: not possible", own,
                         group->size);
    if (allocate(s, err) != 0 || stop_signal_listen(err) != 0 || exchange_addresses(s, err) != 0)
        return -1;
    const int local = own > 1 ? own : group->local_size;
    s->gpus = count_gpus() >= local ? local : 0;
    /* The first round tells all ports. */
    return slots_round(s, err);
}

/* Also for a set that slots_open() left half made: allocate() may have failed at any array. */
void slots_done(struct slots *s) {
    for (int i = 0; s->own != NULL && i < s->own_count; i++)
        slot_child_done(&s->own[i]);
    free(s->own);
    free(s->folders);
    free(s->reads);
    free(s->mine);
    free(s->reports);
    free(s->addresses);
    json_decref(s->orders);
    *s = (struct slots){0};
}

int slots_start(struct slots *s, const struct slot_job *job, struct error *err) {
    if (slots_running(s, job->first, job->size))
        return error_set(err, EXIT_CODE_INTERNAL, "slot %d is taken", job->first);
    for (int i = job->first; i < job->first + job->size; i++)
        s->reports[i].state = SLOT_RUNNING;
    return slot_orders_start(s, job, err);
}

int slots_end(struct slots *s, int first, int size, struct error *err) {
    return slot_orders_end(s, first, size, err);
}

bool slots_running(const struct slots *s, int first, int size) {
    for (int i = first; i < first + size; i++)
        if (s->reports[i].state == SLOT_RUNNING)
            return true;
    return false;
}

/* Ranks get the launcher's signal one by one; the first report of it counts for all, so that they
 * agree in the same round. */
bool slots_stopping(const struct slots *s) {
    for (int i = 0; i < s->count; i++)
        if (s->reports[i].stop != 0)
            return true;
    return false;
}

/* The lower, the more likely it is the cause. A crash by a signal (above 128) comes before an error
 * code of the program. The codes of the second group are mostly consequences: a rank that lost its
 * peer, stalled, or was stopped or killed from outside, 128 + 9 being SIGKILL. A rank that ended
 * well comes last. */
static int rank_of_code(int code) {
    switch (code) {
    case EXIT_CODE_OK:
        return 3;
    case EXIT_CODE_HOST_LOST:
    case EXIT_CODE_STALLED:
    case EXIT_CODE_INTERNAL:
    case EXIT_CODE_STOPPED:
    case 128 + 9:
        return 2;
    default:
        return code > 128 ? 0 : 1;
    }
}

/* All of the slice's slots have ended. Among equal codes the lowest rank counts. */
int slots_code(const struct slots *s, int first, int size, int *ret_rank) {
    int cause = first;
    for (int i = first + 1; i < first + size; i++)
        if (rank_of_code(s->reports[i].code) < rank_of_code(s->reports[cause].code))
            cause = i;
    *ret_rank = cause - first;
    return s->reports[cause].code;
}

static bool same_host(const struct slots *s, int a, int b) {
    return strcmp(s->addresses[a / s->own_count], s->addresses[b / s->own_count]) == 0;
}

int slots_hosts(const struct slots *s, int first, int size) {
    int hosts = 0;
    for (int i = first; i < first + size; i++) {
        int k = first;
        while (k < i && !same_host(s, k, i))
            k++;
        hosts += k == i;
    }
    return hosts;
}

int slots_on_one_host(const struct slots *s, int first, int size) {
    int most = 0;
    for (int i = first; i < first + size; i++) {
        int count = 0;
        for (int k = first; k < first + size; k++)
            count += same_host(s, k, i);
        most = count > most ? count : most;
    }
    return most;
}

/* Waits for the end of a process here, for a stop, or the end of the round. */
static void wait_for_own(struct slots *s) {
    const int64_t until = clock_now() + ROUND;
    const int count = s->own_count + 1;
    cleanup_free struct pollfd *fds = calloc((size_t)count, sizeof(*fds));
    if (fds == NULL)
        return;
    for (int i = 0; i < s->own_count; i++)
        fds[i] = (struct pollfd){.fd = s->own[i].pidfd, .events = POLLIN};
    /* Once a stop is known, its descriptor would end each wait at once. */
    fds[s->own_count] = (struct pollfd){
        .fd = stop_signal_requested() ? -1 : stop_signal_descriptor(), .events = POLLIN};
    while (poll(fds, (nfds_t)count, clock_left_ms(until)) < 0 && clock_now() < until)
        ; /* a signal: the descriptor tells of it */
}

/* Seconds as a report holds them. */
static double since(int64_t then, int64_t now) {
    return (double)(now - then) / (double)CLOCK_SECOND;
}

/* SILENT and SECONDS keep their last values after the end. The state changes once: figures are read
 * in the round that sees the end, and only where the slice's first rank ran. A port is offered only
 * by an idle slot, as it would be the first of the next slice. */
static void report_own(struct slots *s, int i) {
    struct slot_report *r = &s->mine[i];
    struct slot_child *c = &s->own[i];
    const int64_t now = clock_now();
    const bool ran = slot_child_runs(c);
    slot_child_look(c, now);
    if (ran) {
        r->seconds = since(c->begun, now);
        r->silent = since(c->heard, now);
    }
    if (ran && !slot_child_runs(c)) {
        r->state = SLOT_ENDED;
        r->code = c->code;
        if (s->reads[i] && s->read != NULL)
            s->read(s->context, s->folders[i], c->code, r->figures);
    }
    r->stop = stop_signal_requested();
    r->port = slot_child_runs(c) ? 0 : slot_address_port(NULL);
}

/* The size goes first, since the other ranks have to allocate. Rank 0 parses its own text, too, so
 * that all ranks follow the same orders. */
static int share_orders(struct slots *s, json_t **ret, struct error *err) {
    const bool first = s->group->rank == 0;
    cleanup_free char *text = first ? json_dumps(s->orders, JSON_COMPACT) : NULL;
    uint64_t size = text != NULL ? strlen(text) : 0;
    if (first && text == NULL)
        return error_no_memory(err, "orders");
    if (s->group->broadcast(s->group->context, &size, sizeof(size), err) != 0)
        return -1;
    if (size > ORDERS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "orders of %llu bytes", (unsigned long long)size);
    if (!first && (text = malloc(size + 1)) == NULL)
        return error_no_memory(err, "orders");
    if (s->group->broadcast(s->group->context, text, size, err) != 0)
        return -1;
    *ret = json_loadb(text, size, 0, NULL);
    return *ret != NULL ? 0 : error_no_memory(err, "orders");
}

/* The list of orders is renewed before they are carried out: what is ordered from now on is for the
 * next round. The round in which the ranks leave does not wait, but gathers, so that rank 0 gets
 * the last reports. */
int slots_round(struct slots *s, struct error *err) {
    cleanup_json json_t *orders = NULL;
    if (share_orders(s, &orders, err) != 0)
        return -1;
    json_decref(s->orders);
    s->orders = slot_orders_new();
    slot_orders_follow(s, orders);
    bool waits = slot_orders_wait(orders);
    if (waits)
        wait_for_own(s);
    for (int i = 0; i < s->own_count; i++)
        report_own(s, i);
    if (s->orders == NULL)
        return error_no_memory(err, "orders");
    return s->group->gather(s->group->context, s->mine, (size_t)s->own_count * sizeof(*s->mine),
                            s->reports, err);
}

int slots_serve(struct slots *s, struct error *err) {
    while (!s->left)
        if (slots_round(s, err) != 0)
            return -1;
    return 0;
}

int slots_leave(struct slots *s, struct error *err) {
    return slot_orders_leave(s, err) != 0 ? -1 : slots_round(s, err);
}
