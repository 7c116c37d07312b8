#include "trainer/shard/shard_server.h"

#include "common/cleanup.h"
#include "trainer/shard/async_server.h"

#include <stdlib.h>
#include <string.h>

/* The first half is for workers, the second for servers. A server knows nothing at its start but
 * its rank and the number of workers: shard_server_tell sends it all else by broadcasts, in the
 * order in which take_layout receives them. After that it follows orders until the last one.
 *
 * An order is a sum over all ranks, to which rank 0 adds the order and all others zero. A message
 * to the servers alone would break the common order of works, in which all ranks make the same
 * calls (comm.h). */

/* A day: workers may evaluate and write checkpoints for hours between two orders. */
enum { PATIENCE_SECONDS = 24 * 3600 };

/* An order and its argument in one float, exactly. A float holds whole numbers up to 2^24; an
 * argument is less than ORDER_STEP. */
enum { ORDER_STEP = 1024 };

/* Sizes of the two lists that are sent next. */
struct counts {
    int32_t buckets, tensors;
};

/* A broadcast from rank 0. */
static int pass_on(struct comm *comm, void *bytes, size_t size, struct error *err) {
    return comm_broadcast(comm, bytes, size, 0, err);
}

/* The lists are copied because a broadcast may write to its bytes, and the layout must stay as it
 * is. Rank 0's are sent; other workers call it with the same. */
int shard_server_tell(struct comm *comm, const struct shard_layout *layout,
                      const struct shard_service *service, struct error *err) {
    struct counts counts = {layout->bucket_count, layout->tensor_count};
    struct shard_service told = *service;
    const size_t bounds = ((size_t)counts.buckets + 1) * sizeof(*layout->buckets);
    const size_t tensors = (size_t)counts.tensors * sizeof(*layout->tensors);
    /* Workers have it all, but take part in the broadcasts. */
    cleanup_free size_t *buckets = malloc(bounds);
    cleanup_free struct shard_tensor *list = malloc(tensors + 1);
    if (buckets == NULL || list == NULL)
        return error_no_memory(err, "shares of the optimizer");
    memcpy(buckets, layout->buckets, bounds);
    memcpy(list, layout->tensors, tensors);
    if (pass_on(comm, &counts, sizeof(counts), err) != 0 ||
        pass_on(comm, &told, sizeof(told), err) != 0 || pass_on(comm, buckets, bounds, err) != 0 ||
        pass_on(comm, list, tensors, err) != 0)
        return error_wrap(err, "telling the servers what to keep");
    return 0;
}

/* SENT is written by the sum itself, which runs on while the caller computes. */
int shard_server_order(struct shards *s, enum shard_order order, int argument, float *sent,
                       struct error *err) {
    uint64_t ticket = 0;
    *sent = comm_rank(s->comm) == 0 ? (float)((int)order * ORDER_STEP + argument) : 0;
    return comm_sum_start(s->comm, sent, 1, COMM_F32, &ticket, err);
}

/* Only after a run without failure; see failed_server. */
static void server_done(struct shard_server *server) {
    for (int i = 0; i < SHARD_ARENAS; i++)
        free(server->arena[i]);
    free(server->gradients);
    shards_done(&server->shards);
}

/* Receives what shard_server_tell sends. The lists are freed at the end, as shards_open copies
 * them. */
static int take_layout(struct shard_server *server, struct comm *comm, int workers,
                       struct error *err) {
    struct counts counts = {0};
    if (pass_on(comm, &counts, sizeof(counts), err) != 0 ||
        pass_on(comm, &server->service, sizeof(server->service), err) != 0)
        return -1;
    const size_t bounds = (size_t)counts.buckets + 1, tensors = (size_t)counts.tensors;
    cleanup_free size_t *buckets = calloc(bounds, sizeof(*buckets));
    cleanup_free struct shard_tensor *list = calloc(tensors + 1, sizeof(*list));
    if (buckets == NULL || list == NULL)
        return error_no_memory(err, "shares of the optimizer");
    if (pass_on(comm, buckets, bounds * sizeof(*buckets), err) != 0 ||
        pass_on(comm, list, tensors * sizeof(*list), err) != 0)
        return -1;
    const struct shard_layout layout = {buckets, counts.buckets, list, counts.tensors};
    return shards_open(&server->shards, comm, workers, &layout, err);
}

/* Arenas have the size of all parameters, though only own shares are ever touched: zeroed pages
 * that are not written take no memory. */
static int open_server(struct shard_server *server, struct comm *comm, int workers,
                       struct error *err) {
    if (take_layout(server, comm, workers, err) != 0)
        return error_wrap(err, "hearing from rank 0 what this server keeps");
    bool there = (server->gradients = calloc(server->service.count, sizeof(float))) != NULL;
    for (int i = 0; i < SHARD_ARENAS; i++)
        if (server->service.keeps[i])
            there =
                (server->arena[i] = calloc(server->service.count, sizeof(float))) != NULL && there;
    return there ? 0 : error_no_memory(err, "parameters of a server");
}

/* One step together with all workers: sums of all buckets, the verdict, the update, and the weights
 * back. Gradients that are not finite, or a step that rank 0 holds, change nothing, and no weights
 * are sent. */
static int serve_step(struct shard_server *server, uint64_t *ret_updates, struct error *err) {
    struct shards *s = &server->shards;
    struct shard_verdict v = {0};
    uint64_t ticket = 0;
    for (int32_t b = 0; b < s->bucket_count; b++)
        if (shards_sum_start(s, b, server->gradients, &ticket, err) != 0)
            return -1;
    if (comm_wait(s->comm, ticket, err) != 0)
        return -1;
    shards_look(s, server->gradients, server->service.rule.clip_norm > 0, &v);
    if (shards_judge(s, &v, err) != 0)
        return -1;
    if (v.bad > 0 || v.hold > 0)
        return 0;
    *ret_updates = (uint64_t)v.update;
    const struct optimizer_arenas arenas = {.weights = server->arena[SHARD_WEIGHTS],
                                            .gradients = server->gradients,
                                            .state = {.momentum = server->arena[SHARD_MOMENTUM],
                                                      .second = server->arena[SHARD_SECOND],
                                                      .average = server->arena[SHARD_AVERAGE]}};
    return shards_update(s, &server->service.rule, &v, &arenas, err) != 0
               ? -1
               : shards_spread(s, arenas.weights, s->workers, err);
}

/* Deals, gathers or spreads one arena. A gathering is a spread with rank 0 as the only reader. */
static int serve_arena(struct shard_server *server, int order, int arena, struct error *err) {
    struct shards *s = &server->shards;
    if (arena < 0 || arena >= SHARD_ARENAS || server->arena[arena] == NULL)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "rank 0 orders values that this server does not keep");
    return order == SHARD_DEAL ? shards_deal(s, server->arena[arena], err)
                               : shards_spread(s, server->arena[arena],
                                               order == SHARD_GATHER ? 1 : s->workers, err);
}

/* Follows orders until the one to end. Each begins with the sum that carries it. */
static int serve(struct shard_server *server, const struct shard_listener *listener, int *ret_code,
                 struct error *err) {
    uint64_t updates = 0;
    for (;;) {
        float order = 0;
        if (comm_sum(server->shards.comm, &order, 1, COMM_F32, err) != 0)
            return -1;
        const int kind = (int)order / ORDER_STEP, argument = (int)order % ORDER_STEP;
        if (kind == SHARD_END) {
            *ret_code = argument;
            return 0;
        }
        if (kind != SHARD_STEP) {
            if (serve_arena(server, kind, argument, err) != 0)
                return -1;
            continue;
        }
        if (serve_step(server, &updates, err) != 0)
            return -1;
        listener->stepped(listener->user, updates);
    }
}

/* What a run that failed has kept. A sum may still be under way in it, so it stays until the
 * process ends; one process is one server. */
static struct shard_server *volatile failed_server;

/* A server waits for orders as long as workers may evaluate. If a worker is gone, the connection
 * ends and so does the wait. */
int shard_server_run(struct comm *comm, int workers, const struct shard_listener *listener,
                     int *ret_code, struct error *err) {
    struct shard_server *server = calloc(1, sizeof(*server));
    if (server == NULL)
        return error_no_memory(err, "a server of parameters");
    comm_be_patient(comm, PATIENCE_SECONDS);
    int result = open_server(server, comm, workers, err);
    if (result == 0)
        result = server->service.async != 0 ? async_server_run(server, listener, ret_code, err)
                                            : serve(server, listener, ret_code, err);
    if (result != 0) {
        failed_server = server;
        return result;
    }
    server_done(server);
    free(server);
    return 0;
}
