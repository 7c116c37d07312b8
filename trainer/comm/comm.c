#include "trainer/comm/comm.h"

#include "trainer/comm/comm_driver.h"

int comm_split(struct comm *c, int group, struct comm **ret, struct error *err) {
    return c->driver->split(c, group, ret, err);
}

void comm_close(struct comm *c) {
    if (c != NULL)
        c->driver->close(c);
}

void comm_abort(struct comm *c) {
    if (c != NULL)
        c->driver->abort(c);
}

const char *comm_name(const struct comm *c) {
    return c->name;
}

int comm_rank(const struct comm *c) {
    return c->rank;
}

int comm_size(const struct comm *c) {
    return c->size;
}

int comm_local_rank(const struct comm *c) {
    return c->local_rank;
}

int comm_local_size(const struct comm *c) {
    return c->local_size;
}

void comm_observe(struct comm *c, struct comm_observer observer) {
    c->observer = observer;
}

void comm_be_patient(struct comm *c, int seconds) {
    c->patience = seconds;
}

int comm_sum_start(struct comm *c, void *values, size_t count, enum comm_type type,
                   uint64_t *ret_ticket, struct error *err) {
    return c->driver->sum_start(c, values, count, type, ret_ticket, err);
}

int comm_wait(struct comm *c, uint64_t ticket, struct error *err) {
    return c->driver->wait(c, ticket, err);
}

int comm_sum(struct comm *c, void *values, size_t count, enum comm_type type, struct error *err) {
    uint64_t ticket = 0;
    if (comm_sum_start(c, values, count, type, &ticket, err) != 0)
        return -1;
    return comm_wait(c, ticket, err);
}

int comm_share_sum_start(struct comm *c, float *values, const struct comm_shares *shares,
                         uint64_t *ret_ticket, struct error *err) {
    return c->driver->shares_start(c, WORK_SHARE_SUM, values, shares, ret_ticket, err);
}

int comm_share_spread_start(struct comm *c, float *values, const struct comm_shares *shares,
                            uint64_t *ret_ticket, struct error *err) {
    return c->driver->shares_start(c, WORK_SHARE_SPREAD, values, shares, ret_ticket, err);
}

int comm_broadcast(struct comm *c, void *bytes, size_t size, int root, struct error *err) {
    if (root < 0 || root >= c->size)
        return error_set(err, EXIT_CODE_INTERNAL, "broadcast from rank %d of %d", root, c->size);
    return c->driver->broadcast(c, bytes, size, root, err);
}

int comm_gather(struct comm *c, const void *bytes, size_t size, void *all, struct error *err) {
    return c->driver->gather(c, bytes, size, all, err);
}

int comm_barrier(struct comm *c, struct error *err) {
    return c->driver->barrier(c, err);
}

int comm_no_connections(const struct comm *c, struct error *err) {
    return error_set(err, EXIT_CODE_CONFIG,
                     "ranks over %s have no connections of their own: use "
                     "--comm tcp",
                     c->name);
}

int comm_move(struct comm *c, const struct comm_part *parts, struct error *err) {
    return c->driver->move != NULL ? c->driver->move(c, parts, err) : comm_no_connections(c, err);
}

int comm_socket(struct comm *c, int rank) {
    return c->driver->socket != NULL && rank >= 0 && rank < c->size ? c->driver->socket(c, rank)
                                                                    : -1;
}

int comm_narrow(struct comm *c, const unsigned char *gone, struct error *err) {
    return c->driver->narrow != NULL ? c->driver->narrow(c, gone, err)
                                     : comm_no_connections(c, err);
}
