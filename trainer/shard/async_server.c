#include "trainer/shard/async_server.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/shard/async_clocks.h"
#include "trainer/shard/async_peer.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* One thread serves all workers over nonblocking connections (async_peer.h). A turn waits for any
 * of them, moves what can be moved, drops workers that are late, and then settles. Settling takes
 * in what has come as far as the clocks allow, answers those that may continue, and answers all
 * when all meet.
 *
 * async_clocks.c decides when, this file what. A worker's gradients are applied at once when they
 * have come; only the reply may have to wait for slower workers.
 *
 * Every server does the same with its own share, and servers do not talk to each other. Each worker
 * sends the same requests to all of them, and follows the reply of the first one (async_worker.h),
 * which also is the only one to write to the log. */

struct async_server {
    struct shard_server *server; /* borrowed */
    const struct shard_listener *listener;
    struct async_clocks clocks;
    struct async_peer *peers; /* owned; [workers] */
    struct pollfd *polls;     /* owned; [workers] */
    size_t first, count;      /* this server's share */
    int64_t updates;
    bool dealt;                            /* the values of rank 0 are here */
    int meeting;                           /* workers to which a meeting's reply is on its way */
    double flags[ASYNC_FLAGS];             /* since rank 0's last reply, of the others */
    unsigned char gone[ASYNC_WORKERS_MAX]; /* lost */
    bool ended;                            /* rank 0 has said how the run ends */
    int code;
};

/* Workers are the ranks before the servers. */
static int workers_of(const struct async_server *a) {
    return a->server->shards.workers;
}

/* One of the servers warns of lost workers, for all of them. */
static bool is_first_server(const struct async_server *a) {
    return comm_rank(a->server->shards.comm) == workers_of(a);
}

/* The share is that of the one bucket that this mode has (async_worker.h). Connections are those of
 * the communicator, which is not used for collectives meanwhile. */
static int open_peers(struct async_server *a, struct error *err) {
    struct shards *s = &a->server->shards;
    const size_t *bounds = s->buckets[0].bounds + comm_rank(s->comm);
    a->first = bounds[0];
    a->count = bounds[1] - bounds[0];
    a->peers = calloc((size_t)s->workers, sizeof(*a->peers));
    a->polls = calloc((size_t)s->workers, sizeof(*a->polls));
    if (a->peers == NULL || a->polls == NULL)
        return error_no_memory(err, "connections to workers");
    for (int i = 0; i < s->workers; i++)
        if (async_peer_open(&a->peers[i], comm_socket(s->comm, i), a->count * sizeof(float), err) !=
            0)
            return -1;
    return async_clocks_open(&a->clocks, s->workers, a->server->service.staleness, clock_now(),
                             err);
}

static void close_peers(struct async_server *a) {
    for (int i = 0; a->peers != NULL && i < workers_of(a); i++)
        async_peer_done(&a->peers[i]);
    free(a->peers);
    free(a->polls);
    async_clocks_done(&a->clocks);
}

/* WORKER takes no part any more. A reply of a meeting that is on its way to it does not hold up the
 * others any more. */
static void close_peer(struct async_server *a, int worker) {
    struct async_peer *p = &a->peers[worker];
    a->meeting -= p->state == ASYNC_PEER_TELLS && p->request.kind == ASYNC_MEET;
    p->fd = -1;
    p->state = ASYNC_PEER_HEARS;
    async_clocks_leave(&a->clocks, worker);
}

/* Handles a worker that is gone or has broken the rules. An error only if the run cannot continue.
 */
static int lose(struct async_server *a, int worker, const struct error *why, struct error *err) {
    close_peer(a, worker);
    a->gone[worker] = 1;
    if (worker == 0 && !a->ended)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "rank 0 is lost, and with it the run: it writes checkpoints; %s",
                         why->text);
    const int live = async_clocks_live(&a->clocks);
    if (is_first_server(a) && !a->ended)
        log_warning("rank %d is lost: %s; %d worker%s go%s on", worker, why->text, live,
                    STR_PLURAL(live), live == 1 ? "es" : "");
    return 0;
}

/* Takes rank 0's values of an arena, at the start of a run. Updates count for each worker, so those
 * that were made before this run count as many times. */
static void deal(struct async_server *a, const struct async_peer *p) {
    float *arena = p->request.argument >= 0 && p->request.argument < SHARD_ARENAS
                       ? a->server->arena[p->request.argument]
                       : NULL;
    if (arena != NULL)
        memcpy(arena + a->first, p->values, a->count * sizeof(float));
    a->updates = p->request.updates * workers_of(a);
}

/* One worker's update is a part of what all of them make in a step: so are its learning rate and
 * what it leaves of the moving average. The decay of the moving average is its root of that degree:
 * the updates of all workers together decay it as one did. A step that changes nothing never comes
 * here: its worker sends ASYNC_VOID. */
static int update(struct async_server *a, const struct async_peer *p, struct error *err) {
    struct shard_server *server = a->server;
    const float parts = (float)async_clocks_live(&a->clocks);
    struct optimizer_rule rule = server->service.rule;
    const struct shard_verdict v = {.rate = p->request.rate / (double)parts,
                                    .momentum = p->request.momentum,
                                    .squares = p->request.squares,
                                    .update = (double)++a->updates};
    const struct optimizer_arenas arenas = {.weights = server->arena[SHARD_WEIGHTS],
                                            .gradients = server->gradients,
                                            .state = {.momentum = server->arena[SHARD_MOMENTUM],
                                                      .second = server->arena[SHARD_SECOND],
                                                      .average = server->arena[SHARD_AVERAGE]}};
    rule.step.average = powf(rule.step.average, 1 / parts);
    memcpy(server->gradients + a->first, p->values, a->count * sizeof(float));
    return shards_update(&server->shards, &rule, &v, &arenas, err);
}

/* Takes in WORKER's whole request; false: its values cannot be used yet. Before rank 0's first step
 * the arenas are not complete. While replies of a meeting are going out, their pieces point into
 * the arenas, which must not change. */
static bool can_take(const struct async_server *a, int worker) {
    const struct async_peer *p = &a->peers[worker];
    if (p->fd < 0 || p->state != ASYNC_PEER_HAS || a->clocks.of[worker].place != ASYNC_COMPUTES)
        return false;
    return worker == 0 || a->dealt || p->request.kind == ASYNC_END ? a->meeting == 0 : false;
}

/* Takes in one request. The flags of other workers are summed for rank 0's next reply; its own it
 * knows. */
static int take(struct async_server *a, int worker, struct error *err) {
    struct async_peer *p = &a->peers[worker];
    const struct async_request *r = &p->request;
    if (r->kind == ASYNC_DEAL) {
        deal(a, p);
        async_peer_next(p);
        return 0;
    }
    if (r->kind == ASYNC_END) {
        a->ended = a->ended || worker == 0;
        a->code = worker == 0 ? (int)r->argument : a->code;
        close_peer(a, worker);
        return 0;
    }
    a->dealt = a->dealt || worker == 0;
    if (r->kind == ASYNC_MEET) {
        async_clocks_meet(&a->clocks, worker);
        return 0;
    }
    if (r->kind == ASYNC_PUSH && update(a, p, err) != 0)
        return -1;
    for (int i = 0; worker > 0 && r->kind == ASYNC_PUSH && i < ASYNC_FLAGS; i++)
        a->flags[i] += (double)r->flags[i];
    async_clocks_push(&a->clocks, worker, r->clock, r->wishes);
    a->listener->stepped(a->listener->user, (uint64_t)a->updates);
    return 0;
}

/* Begins a reply with what all workers get: wishes, who is there, and the slowest clock. */
static void begin_reply(struct async_server *a, int worker, unsigned wishes) {
    struct async_peer *p = &a->peers[worker];
    p->reply = (struct async_reply){.wishes = wishes,
                                    .live = (uint32_t)async_clocks_live(&a->clocks),
                                    .clock = async_clocks_slowest(&a->clocks)};
    memcpy(p->reply.gone, a->gone, sizeof(p->reply.gone));
    async_peer_tell(p);
}

/* What goes out is a copy, as others may change the weights meanwhile. The copy takes the place of
 * the gradients, which are used up. */
static void answer(struct async_server *a, int worker) {
    struct async_peer *p = &a->peers[worker];
    begin_reply(a, worker, async_clocks_go(&a->clocks, worker, clock_now()));
    if (p->request.kind != ASYNC_PUSH)
        return;
    if (worker == 0) {
        memcpy(p->reply.flags, a->flags, sizeof(a->flags));
        memset(a->flags, 0, sizeof(a->flags));
    }
    memcpy(p->values, a->server->arena[SHARD_WEIGHTS] + a->first, p->size);
    async_peer_add(p, p->values, p->size);
}

/* Nothing changes until all have what they came for. Replies are sent straight from the arenas,
 * without copies. Rank 0 gets all of them for its checkpoint, the others weights and average. */
static void meet(struct async_server *a) {
    for (int i = 0; i < workers_of(a); i++) {
        if (a->peers[i].fd < 0)
            continue;
        begin_reply(a, i, 0);
        for (int arena = 0; arena < SHARD_ARENAS; arena++) {
            const bool state = arena == SHARD_MOMENTUM || arena == SHARD_SECOND;
            if (a->server->arena[arena] != NULL && (i == 0 || !state))
                async_peer_add(&a->peers[i], a->server->arena[arena] + a->first, a->peers[i].size);
        }
        a->meeting++;
    }
    async_clocks_part(&a->clocks, clock_now());
}

/* Does all that what has come allows. */
static int settle(struct async_server *a, struct error *err) {
    const int workers = workers_of(a);
    for (int i = 0; i < workers; i++)
        while (can_take(a, i))
            if (take(a, i, err) != 0)
                return -1;
    for (int i = 0; i < workers; i++)
        if (a->peers[i].fd >= 0 && async_clocks_may_go(&a->clocks, i))
            answer(a, i);
    if (async_clocks_all_meet(&a->clocks))
        meet(a);
    return 0;
}

/* Moves what a worker's socket allows. A meeting's reply that is complete is counted off, and the
 * last one lets the next requests in. */
static int serve_peer(struct async_server *a, int worker, struct error *err) {
    struct async_peer *p = &a->peers[worker];
    struct error why = {0};
    const bool met = p->state == ASYNC_PEER_TELLS && p->request.kind == ASYNC_MEET;
    if (async_peer_move(p, &why) != 0)
        return lose(a, worker, &why, err);
    if (p->state == ASYNC_PEER_HAS && p->request.kind == ASYNC_DEAL && (worker != 0 || a->dealt)) {
        (void)error_set(&why, EXIT_CODE_INTERNAL,
                        "it deals values, which rank 0 alone does, and before its first step");
        return lose(a, worker, &why, err);
    }
    a->meeting -= met && p->state != ASYNC_PEER_TELLS;
    return 0;
}

/* Several workers can be late at the same time, so all are looked for. */
static int lose_late(struct async_server *a, struct error *err) {
    struct error why = {0};
    for (int late; (late = async_clocks_late(&a->clocks, clock_now())) >= 0;) {
        (void)error_set(&why, EXIT_CODE_STALLED, "it has not been heard in time");
        if (lose(a, late, &why, err) != 0)
            return -1;
    }
    return 0;
}

/* Without a deadline of any worker the wait is bounded all the same. An error of poll() other than
 * a signal ends the server. */
static int turn(struct async_server *a, struct error *err) {
    const int workers = workers_of(a);
    for (int i = 0; i < workers; i++)
        a->polls[i] =
            (struct pollfd){.fd = a->peers[i].fd, .events = async_peer_events(&a->peers[i])};
    const int64_t until = async_clocks_deadline(&a->clocks);
    const int left = until == INT64_MAX ? ASYNC_STEP_SECONDS * 1000 : clock_left_ms(until);
    if (poll(a->polls, (nfds_t)workers, left) < 0 && errno != EINTR)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "waiting for workers");
    for (int i = 0; i < workers; i++)
        if (a->peers[i].fd >= 0 && a->polls[i].revents != 0 && serve_peer(a, i, err) != 0)
            return -1;
    return lose_late(a, err) != 0 ? -1 : settle(a, err);
}

/* Runs until no worker is left: each leaves by its last request, or is lost. The connections belong
 * to the communicator and stay open. */
int async_server_run(struct shard_server *server, const struct shard_listener *listener,
                     int *ret_code, struct error *err) {
    struct async_server a = {.server = server, .listener = listener};
    int result = open_peers(&a, err);
    while (result == 0 && async_clocks_live(&a.clocks) > 0)
        result = turn(&a, err);
    *ret_code = a.code;
    close_peers(&a);
    return result;
}
