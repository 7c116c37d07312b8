#include "trainer/app/comm_check/comm_check_pairs.h"

#include "common/cleanup.h"
#include "trainer/app/comm_check/comm_check_hosts.h"
#include "trainer/app/comm_check/host_pairs.h"

#include <stdlib.h>

enum { AGAIN_MAX = 8, AGAIN_TIMES = 3, TRANSFER_LEAST = 256 << 10, STEP_DOWN = 4 };

static const double SHORT_BUDGET = 0.03; /* seconds */
static const double TRANSFER_BUDGET = 0.25;
static const double TRANSFER_MOST = 1; /* one all-reduce; on a slow way the message is shorter */
/* After this many seconds no round begins: the sizes among all ranks come after the pairs. */
static const double ROUNDS_END = 35;

/* The size of the message for a pair that SHORTER was measured with: the same for all pairs, but
 * for those that it would take too long. All ranks of the pair know the same measurement. */
static size_t transfer_bytes(enum reducer_kind kind, const struct measurement *shorter) {
    size_t bytes = comm_check_transfer_max(kind);
    while (bytes > TRANSFER_LEAST &&
           shorter->seconds * (double)bytes / (double)shorter->bytes > TRANSFER_MOST)
        bytes /= STEP_DOWN;
    return bytes;
}

static int take_pair(struct reducer *r, struct comm *group, void *context, struct error *err) {
    const enum reducer_kind kind = r->nccl != NULL ? REDUCER_NCCL : REDUCER_MPI;
    struct pair_result *pair = context;
    if (measurement_take(r, group, MEASURE_LATENCY_BYTES, SHORT_BUDGET, &pair->latency, err) != 0 ||
        measurement_take(r, group, TRANSFER_LEAST, SHORT_BUDGET, &pair->transfer, err) != 0)
        return -1;
    const size_t bytes = transfer_bytes(kind, &pair->transfer);
    const uint64_t wrong = pair->transfer.wrong;
    if (measurement_take(r, group, bytes, TRANSFER_BUDGET, &pair->transfer, err) != 0)
        return -1;
    pair->transfer.wrong += wrong;
    pair->tested = true;
    return 0;
}

static int other_host(const struct pair_result *p, int host) {
    return p->a == host ? p->b : p->b == host ? p->a : -1;
}

/* The pair of A and B; pairs lie in the order of their rounds. */
static struct pair_result *find_pair(struct comm_check *c, int a, int b) {
    for (size_t i = 0; i < c->pair_count; i++)
        if (other_host(&c->pairs[i], a) == b)
            return &c->pairs[i];
    return NULL;
}

/* Measures the own pair, of this host and PARTNER (-1: none), and learns of all others. */
static int measure_round(struct comm_check *c, int partner, struct error *err) {
    const int ranks = comm_size(c->comm);
    const int host = c->host_of[comm_rank(c->comm)];
    const int group = partner < 0 ? -1 : partner < host ? partner : host;
    struct pair_result own = {.a = host < partner ? host : partner,
                              .b = host < partner ? partner : host};
    cleanup_free struct pair_result *all = calloc((size_t)ranks, sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "measurements of all pairs");
    if (partner >= 0)
        step_limit_next(c->limit, COMM_CHECK_STEP_SECONDS, "the all-reduce between %s and %s",
                        c->hosts[own.a].name, c->hosts[own.b].name);
    else
        step_limit_next(c->limit, COMM_CHECK_OPEN_SECONDS, "the other pairs of hosts");
    if (comm_check_among(c, group, comm_check_transfer_max(c->kind), take_pair, &own, err) != 0)
        return -1;
    /* Later than the limit of a pair that hangs, so that its own ranks tell of it first. */
    step_limit_next(c->limit, COMM_CHECK_OPEN_SECONDS, "the other pairs of hosts");
    if (comm_gather(c->comm, &own, sizeof(own), all, err) != 0)
        return -1;
    for (int rank = 0; rank < ranks; rank++) {
        struct pair_result *pair = all[rank].tested ? find_pair(c, all[rank].a, all[rank].b) : NULL;
        if (pair != NULL && (!pair->tested || measurement_bus_rate(&all[rank].transfer) >
                                                  measurement_bus_rate(&pair->transfer))) {
            all[rank].latency.wrong += pair->latency.wrong;
            all[rank].transfer.wrong += pair->transfer.wrong;
            *pair = all[rank];
        }
    }
    return 0;
}

/* Rank 0's clock decides for all. */
static int may_go_on(struct comm_check *c, bool *ret, struct error *err) {
    unsigned char go = step_limit_passed(c->limit) < ROUNDS_END;
    if (comm_broadcast(c->comm, &go, sizeof(go), 0, err) != 0)
        return -1;
    *ret = go != 0;
    return 0;
}

static int list_pairs(struct comm_check *c, struct error *err) {
    const size_t hosts = (size_t)c->host_count;
    c->pairs = calloc(hosts * (hosts - 1) / 2 + 1, sizeof(*c->pairs));
    if (c->pairs == NULL)
        return error_no_memory(err, "pairs of hosts");
    for (int a = 0; a < c->host_count; a++)
        for (int b = a + 1; b < c->host_count; b++)
            c->pairs[c->pair_count++] = (struct pair_result){.a = a, .b = b};
    return 0;
}

static int measure_slow_again(struct comm_check *c, struct error *err) {
    const int host = c->host_of[comm_rank(c->comm)];
    int times = 0;
    for (size_t i = 0; i < c->pair_count && times < AGAIN_MAX; i++) {
        bool go = true;
        if (!c->pairs[i].tested || c->pairs[i].state != PAIR_SLOW)
            continue;
        times++;
        if (may_go_on(c, &go, err) != 0)
            return -1;
        if (go && measure_round(c, other_host(&c->pairs[i], host), err) != 0)
            return -1;
    }
    return 0;
}

int comm_check_pairs_measure(struct comm_check *c, struct error *err) {
    const int host = c->host_of[comm_rank(c->comm)];
    const int rounds = host_pairs_rounds(c->host_count);
    bool go = true;
    if (list_pairs(c, err) != 0)
        return -1;
    for (int round = 0; round < rounds; round++) {
        if (may_go_on(c, &go, err) != 0)
            return -1;
        if (!go)
            break;
        if (measure_round(c, host_pairs_partner(c->host_count, round, host), err) != 0)
            return -1;
    }
    for (int i = 0; i < AGAIN_TIMES; i++) {
        pair_verdict_judge(c->pairs, c->pair_count);
        if (measure_slow_again(c, err) != 0)
            return -1;
    }
    pair_verdict_judge(c->pairs, c->pair_count);
    c->bad_host = pair_verdict_host(c->pairs, c->pair_count, c->host_count);
    for (size_t i = 0; i < c->pair_count; i++)
        c->pairs_left_out += !c->pairs[i].tested;
    return 0;
}
