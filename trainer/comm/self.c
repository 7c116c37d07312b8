/* Communicator of a single rank: every sum is complete at once. */
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"

#include <stdlib.h>
#include <string.h>

static int self_split(struct comm *c, int group, struct comm **ret, struct error *err) {
    (void)c;
    *ret = NULL;
    return group >= 0 ? comm_self_open(ret, err) : 0;
}

static void self_close(struct comm *c) {
    free(c);
}

static void self_abort(struct comm *c) {
    (void)c;
}

static int self_sum_start(struct comm *c, void *values, size_t count, enum comm_type type,
                          uint64_t *ret_ticket, struct error *err) {
    (void)c, (void)values, (void)count, (void)type, (void)err;
    *ret_ticket = 0;
    return 0;
}

static int self_shares_start(struct comm *c, enum work_kind kind, float *values,
                             const struct comm_shares *shares, uint64_t *ret_ticket,
                             struct error *err) {
    (void)c, (void)kind, (void)values, (void)shares, (void)err;
    *ret_ticket = 0;
    return 0;
}

static int self_wait(struct comm *c, uint64_t ticket, struct error *err) {
    (void)c, (void)ticket, (void)err;
    return 0;
}

static int self_broadcast(struct comm *c, void *bytes, size_t size, int root, struct error *err) {
    (void)c, (void)bytes, (void)size, (void)root, (void)err;
    return 0;
}

static int self_gather(struct comm *c, const void *bytes, size_t size, void *all,
                       struct error *err) {
    (void)c, (void)err;
    memcpy(all, bytes, size);
    return 0;
}

static int self_barrier(struct comm *c, struct error *err) {
    (void)c, (void)err;
    return 0;
}

int comm_self_open(struct comm **ret, struct error *err) {
    static const struct comm_driver driver = {
        .split = self_split,
        .close = self_close,
        .abort = self_abort,
        .sum_start = self_sum_start,
        .shares_start = self_shares_start,
        .wait = self_wait,
        .broadcast = self_broadcast,
        .gather = self_gather,
        .barrier = self_barrier,
    };
    struct comm *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return error_no_memory(err, "communicator");
    *c = (struct comm){.driver = &driver, .name = "self", .size = 1, .local_size = 1};
    *ret = c;
    return 0;
}
