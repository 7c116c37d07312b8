#include "trainer/comm/tcp/collectives.h"

#include "trainer/comm/comm_thread.h"
#include "trainer/comm/ordered_sum.h"

#include <stdlib.h>
#include <string.h>

/* Each collective fills in parts, one for each rank, and runs one or two exchanges (exchange.h).
 * Parts are empty before and after each run, so a collective sets only what it uses; the rank's own
 * part is never looked at.
 *
 * The first exchange of a work carries the head, with which ranks notice that they make different
 * calls. Later ones need none: the rest of a collective follows from kind and size, on which all
 * agree then.
 *
 * Sums in half precision and in shares are the same for all drivers (comm_thread_share); this file
 * only lends them its exchange.
 *
 * comm_tcp.c calls it on the communicating thread alone. */

/* All memory but scratch is allocated here: its need is known only with the first sum. */
int collectives_init(struct collectives *c, const struct mesh *mesh, struct error *err) {
    *c = (struct collectives){0};
    if (exchange_init(&c->exchange, mesh, err) != 0)
        return -1;
    c->pieces = calloc((size_t)mesh->size, sizeof(*c->pieces));
    if (c->pieces == NULL) {
        collectives_done(c);
        return error_no_memory(err, "sums over ranks");
    }
    return 0;
}

void collectives_done(struct collectives *c) {
    exchange_done(&c->exchange);
    shares_memory_done(&c->shares);
    free(c->scratch);
    free(c->pieces);
    *c = (struct collectives){0};
}

/* Makes room for SIZE bytes of each rank. The old content is not kept. SIZE is bounded by the
 * segments. */
static int need_scratch(struct collectives *c, size_t size, struct error *err) {
    size_t bytes = size * (size_t)c->exchange.mesh->size;
    if (bytes <= c->scratch_bytes)
        return 0;
    free(c->scratch);
    c->scratch_bytes = 0;
    c->scratch = malloc(bytes);
    if (c->scratch == NULL)
        return error_no_memory(err, "sums over ranks");
    c->scratch_bytes = bytes;
    return 0;
}

/* Exchanges SIZE bytes of OWN and awaits as many of each rank, in scratch; `pieces` are all of
 * them. The caller sets what goes out. This rank's own piece is not copied into scratch. */
static void ask_pieces(struct collectives *c, const void *own, size_t size) {
    const struct mesh *mesh = c->exchange.mesh;
    for (int i = 0; i < mesh->size; i++) {
        char *in = (char *)c->scratch + (size_t)i * size;
        c->exchange.parts[i].in = in;
        c->exchange.parts[i].in_size = size;
        c->pieces[i] = i == mesh->rank ? own : in;
    }
}

/* All ranks get all values, and each adds up. VALUES go out and are overwritten only after the
 * exchange. */
static int sum_whole(struct collectives *c, char *values, size_t count, enum comm_type type,
                     const struct exchange_head *head, int64_t deadline, struct error *err) {
    const struct mesh *mesh = c->exchange.mesh;
    const size_t bytes = count * comm_type_width(type);
    if (need_scratch(c, bytes, err) != 0)
        return -1;
    ask_pieces(c, values, bytes);
    for (int i = 0; i < mesh->size; i++) {
        c->exchange.parts[i].out = values;
        c->exchange.parts[i].out_size = bytes;
    }
    if (exchange_run(&c->exchange, head, deadline, err) != 0)
        return -1;
    ordered_sum(values, c->pieces, mesh->size, count, type);
    return 0;
}

/* Everyone sends its share of COUNT things of WIDTH bytes to all others, which hold them in place.
 * ROOT has all of them already (-1: no rank). It is the second half of a sum in shares, and of a
 * long broadcast, where the root neither gets anything nor is left out as a sender. */
static int spread(struct collectives *c, char *values, size_t count, size_t width, int root,
                  int64_t deadline, struct error *err) {
    const struct mesh *mesh = c->exchange.mesh;
    const size_t own = shares_even_at(count, mesh->rank, mesh->size) * width;
    for (int i = 0; i < mesh->size; i++) {
        struct comm_part *part = &c->exchange.parts[i];
        if (i != root) {
            part->out = values + own;
            part->out_size = shares_even_size(count, mesh->rank, mesh->size) * width;
        }
        if (mesh->rank != root) {
            part->in = values + shares_even_at(count, i, mesh->size) * width;
            part->in_size = shares_even_size(count, i, mesh->size) * width;
        }
    }
    return exchange_run(&c->exchange, NULL, deadline, err);
}

/* Each rank adds up its share. The values that others own are still there afterwards and are
 * overwritten by the spread. */
static int sum_shares(struct collectives *c, char *values, size_t count, enum comm_type type,
                      const struct exchange_head *head, int64_t deadline, struct error *err) {
    const struct mesh *mesh = c->exchange.mesh;
    const size_t width = comm_type_width(type);
    const size_t own_count = shares_even_size(count, mesh->rank, mesh->size);
    char *own = values + shares_even_at(count, mesh->rank, mesh->size) * width;
    if (need_scratch(c, (count / (size_t)mesh->size + 1) * width, err) != 0)
        return -1;
    ask_pieces(c, own, own_count * width);
    for (int i = 0; i < mesh->size; i++) {
        c->exchange.parts[i].out = values + shares_even_at(count, i, mesh->size) * width;
        c->exchange.parts[i].out_size = shares_even_size(count, i, mesh->size) * width;
    }
    if (exchange_run(&c->exchange, head, deadline, err) != 0)
        return -1;
    ordered_sum(own, c->pieces, mesh->size, own_count, type);
    return spread(c, values, count, width, -1, deadline, err);
}

/* A sum of no elements still makes one exchange, so that the heads are compared. Whether a segment
 * goes whole depends on its size alone, so all ranks decide alike. */
static int sum(struct collectives *c, const struct work *work, const struct exchange_head *head,
               int64_t deadline, struct error *err) {
    const size_t ranks = (size_t)c->exchange.mesh->size;
    const size_t width = comm_type_width(work->type);
    const size_t segment = COLLECTIVES_SEGMENT_BYTES / width;
    char *values = work->data;
    size_t done = 0;
    do {
        const size_t count = work->count - done < segment ? work->count - done : segment;
        const bool whole = ranks == 2 || count * width * ranks <= COLLECTIVES_SHORT_BYTES;
        /* Only the first exchange of the work has the head. */
        const struct exchange_head *first = done == 0 ? head : NULL;
        int bad =
            whole ? sum_whole(c, values + done * width, count, work->type, first, deadline, err)
                  : sum_shares(c, values + done * width, count, work->type, first, deadline, err);
        if (bad != 0)
            return -1;
        done += count;
    } while (done < work->count);
    return 0;
}

/* Long ones go out in shares, which all then pass on, so that the root sends them but once. All
 * ranks choose the same way, since size and root are the same for all. With shares, even the root
 * sends less than twice the whole, however many ranks there are. */
static int broadcast(struct collectives *c, const struct work *work,
                     const struct exchange_head *head, int64_t deadline, struct error *err) {
    const struct mesh *mesh = c->exchange.mesh;
    const bool whole = mesh->size == 2 || work->count <= COLLECTIVES_SHORT_BYTES;
    char *bytes = work->data;
    if (mesh->rank == work->root) {
        for (int i = 0; i < mesh->size; i++) {
            c->exchange.parts[i].out =
                whole ? bytes : bytes + shares_even_at(work->count, i, mesh->size);
            c->exchange.parts[i].out_size =
                whole ? work->count : shares_even_size(work->count, i, mesh->size);
        }
    } else {
        struct comm_part *from = &c->exchange.parts[work->root];
        from->in = whole ? bytes : bytes + shares_even_at(work->count, mesh->rank, mesh->size);
        from->in_size = whole ? work->count : shares_even_size(work->count, mesh->rank, mesh->size);
    }
    if (exchange_run(&c->exchange, head, deadline, err) != 0)
        return -1;
    return whole ? 0 : spread(c, bytes, work->count, 1, work->root, deadline, err);
}

/* This rank's own bytes are copied by memmove(), so INPUT may be its place in DATA. */
static int gather(struct collectives *c, const struct work *work, const struct exchange_head *head,
                  int64_t deadline, struct error *err) {
    const struct mesh *mesh = c->exchange.mesh;
    for (int i = 0; i < mesh->size; i++)
        c->exchange.parts[i] = (struct comm_part){
            .out = work->input,
            .out_size = work->count,
            .in = (char *)work->data + (size_t)i * work->count,
            .in_size = work->count,
        };
    memmove((char *)work->data + (size_t)mesh->rank * work->count, work->input, work->count);
    return exchange_run(&c->exchange, head, deadline, err);
}

/* One of the works in shares, under way. */
struct share_work {
    struct collectives *c;
    const struct exchange_head *head; /* of its first exchange; NULL after that */
    int64_t deadline;
};

/* The callback of shares.h and half_sum.h. The parts are filled in when it is called. */
static int exchange_shares(void *user, struct error *err) {
    struct share_work *s = user;
    const struct exchange_head *head = s->head;
    s->head = NULL;
    return exchange_run(&s->c->exchange, head, s->deadline, err);
}

/* The works that drivers have in common. Its rounds run as exchanges of the same mesh. HEAD goes
 * with the first of them only. */
static int share(struct collectives *c, const struct work *work, const struct exchange_head *head,
                 int64_t deadline, struct error *err) {
    struct share_work s = {c, head, deadline};
    const struct shares_exchange x = {.rank = c->exchange.mesh->rank,
                                      .ranks = c->exchange.mesh->size,
                                      .parts = c->exchange.parts,
                                      .run = exchange_shares,
                                      .user = &s,
                                      .memory = &c->shares};
    return comm_thread_share(&x, work, err);
}

/* Between some ranks, so that it does not count as a call of all. There is no head, and the other
 * side may be a socket that its owner reads by itself (comm_socket). */
static int move(struct collectives *c, const struct work *work, int64_t deadline,
                struct error *err) {
    memcpy(c->exchange.parts, work->input,
           (size_t)c->exchange.mesh->size * sizeof(*c->exchange.parts));
    return exchange_run(&c->exchange, NULL, deadline, err);
}

/* Works that are nothing but a meeting of all ranks, such as a barrier, end with the exchange of
 * heads. WORK_MOVE is not counted, since it concerns only some ranks; so the number is the same on
 * all. */
int collectives_perform(struct collectives *c, const struct work *work, int64_t deadline,
                        struct error *err) {
    if (work->kind == WORK_MOVE)
        return move(c, work, deadline, err);
    const struct exchange_head head = {
        .number = ++c->number,
        .kind = (uint64_t)work->kind << 8 | (uint64_t)work->type,
        .size = work->count,
    };
    switch (work->kind) {
    case WORK_SUM:
        return comm_type_is_half(work->type) ? share(c, work, &head, deadline, err)
                                             : sum(c, work, &head, deadline, err);
    case WORK_SHARE_SUM:
    case WORK_SHARE_SPREAD:
        return share(c, work, &head, deadline, err);
    case WORK_BROADCAST:
        return broadcast(c, work, &head, deadline, err);
    case WORK_GATHER:
        return gather(c, work, &head, deadline, err);
    case WORK_BARRIER:
    case WORK_SPLIT:
    case WORK_RELEASE:
    case WORK_MOVE:
    case WORK_NARROW:
        break;
    }
    return exchange_run(&c->exchange, &head, deadline, err);
}
