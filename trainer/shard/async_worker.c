#include "trainer/shard/async_worker.h"

#include <stdlib.h>

int async_worker_open(struct async_worker *w, struct shards *shards, struct error *err) {
    const size_t ranks = (size_t)comm_size(shards->comm);
    *w = (struct async_worker){.shards = shards};
    w->parts = calloc(ranks, sizeof(*w->parts));
    w->replies = calloc(ranks, sizeof(*w->replies));
    if (w->parts != NULL && w->replies != NULL)
        return 0;
    async_worker_done(w);
    return error_no_memory(err, "messages to servers");
}

void async_worker_done(struct async_worker *w) {
    free(w->parts);
    free(w->replies);
    *w = (struct async_worker){0};
}

/* Moves each server's share of OUT there, and of IN here; NULL: none. */
static int move(struct async_worker *w, const float *out, float *in, struct error *err) {
    const struct shards *s = w->shards;
    const int ranks = comm_size(s->comm);
    for (int rank = 0; rank < ranks; rank++) {
        const size_t *bounds = s->buckets[0].bounds + rank;
        const size_t bytes = (bounds[1] - bounds[0]) * sizeof(float);
        w->parts[rank] = (struct comm_part){0};
        if (rank < s->workers)
            continue;
        w->parts[rank] = (struct comm_part){.out = out != NULL ? out + bounds[0] : NULL,
                                            .out_size = out != NULL ? bytes : 0,
                                            .in = in != NULL ? in + bounds[0] : NULL,
                                            .in_size = in != NULL ? bytes : 0};
    }
    return comm_move(s->comm, w->parts, err);
}

int async_worker_send(struct async_worker *w, const struct async_request *request,
                      const float *values, struct error *err) {
    const struct shards *s = w->shards;
    for (int rank = 0; rank < comm_size(s->comm); rank++)
        w->parts[rank] = rank < s->workers
                             ? (struct comm_part){0}
                             : (struct comm_part){.out = request, .out_size = sizeof(*request)};
    if (comm_move(s->comm, w->parts, err) != 0 ||
        (values != NULL && move(w, values, NULL, err) != 0))
        return error_wrap(err, "sending to the servers");
    return 0;
}

int async_worker_hear(struct async_worker *w, const struct async_reply **ret, struct error *err) {
    const struct shards *s = w->shards;
    for (int rank = 0; rank < comm_size(s->comm); rank++)
        w->parts[rank] = rank < s->workers
                             ? (struct comm_part){0}
                             : (struct comm_part){.in = &w->replies[rank - s->workers],
                                                  .in_size = sizeof(*w->replies)};
    *ret = w->replies;
    return comm_move(s->comm, w->parts, err) == 0 ? 0 : error_wrap(err, "waiting for the servers");
}

int async_worker_fetch(struct async_worker *w, float *values, struct error *err) {
    return move(w, NULL, values, err) == 0 ? 0 : error_wrap(err, "values of the servers");
}
