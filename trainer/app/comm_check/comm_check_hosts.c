#include "trainer/app/comm_check/comm_check_hosts.h"

#include "common/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double WITHIN_BUDGET = 0.5; /* seconds */

size_t comm_check_transfer_max(enum reducer_kind kind) {
    return kind == REDUCER_NCCL ? (size_t)128 << 20 : (size_t)16 << 20;
}

struct whereabouts {
    char host[COMM_CHECK_NAME_SIZE];
};

static int host_named(const struct comm_check *c, const char *name) {
    for (int i = 0; i < c->host_count; i++)
        if (strcmp(c->hosts[i].name, name) == 0)
            return i;
    return -1;
}

static void add_rank(struct comm_check *c, int rank, const char *name) {
    int host = host_named(c, name);
    if (host < 0) {
        host = c->host_count++;
        (void)snprintf(c->hosts[host].name, sizeof(c->hosts[host].name), "%s", name);
    }
    c->hosts[host].ranks++;
    c->host_of[rank] = host;
}

int comm_check_hosts_find(struct comm_check *c, struct error *err) {
    const int ranks = comm_size(c->comm);
    struct whereabouts own = {0};
    const char *told = getenv("SM_CURRENT_HOST");
    cleanup_free struct whereabouts *all = calloc((size_t)ranks, sizeof(*all));
    c->hosts = calloc((size_t)ranks, sizeof(*c->hosts));
    c->host_of = calloc((size_t)ranks, sizeof(*c->host_of));
    if (all == NULL || c->hosts == NULL || c->host_of == NULL)
        return error_no_memory(err, "the hosts of all ranks");
    if (told != NULL && told[0] != '\0')
        (void)snprintf(own.host, sizeof(own.host), "%s", told);
    else
        (void)gethostname(own.host, sizeof(own.host) - 1);
    if (comm_gather(c->comm, &own, sizeof(own), all, err) != 0)
        return -1;
    for (int rank = 0; rank < ranks; rank++)
        add_rank(c, rank, all[rank].host);
    return 0;
}

int comm_check_among(struct comm_check *c, int group, size_t bytes,
                     int (*take)(struct reducer *r, struct comm *group, void *context,
                                 struct error *err),
                     void *context, struct error *err) {
    struct comm *among = NULL;
    struct reducer r = {0};
    if (comm_split(c->comm, group, &among, err) != 0)
        return -1;
    if (among == NULL)
        return 0;
    int result = reducer_open(&r, c->kind, among, comm_local_rank(c->comm), bytes, err);
    if (result == 0)
        result = take(&r, among, context, err);
    if (reducer_close(&r) != 0 || result != 0)
        return -1; /* the process ends */
    comm_close(among);
    return 0;
}

static int take_within(struct reducer *r, struct comm *group, void *context, struct error *err) {
    struct comm_check *c = context;
    struct measurement *own = &c->hosts[c->host_of[comm_rank(c->comm)]].within;
    return measurement_take(r, group, comm_check_transfer_max(c->kind), WITHIN_BUDGET, own, err);
}

int comm_check_hosts_measure(struct comm_check *c, struct error *err) {
    const int ranks = comm_size(c->comm);
    const int host = c->host_of[comm_rank(c->comm)];
    cleanup_free struct measurement *all = calloc((size_t)ranks, sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "measurements of all hosts");
    step_limit_next(c->limit, COMM_CHECK_OPEN_SECONDS, "the all-reduce within %s",
                    c->hosts[host].name);
    if (comm_check_among(c, c->hosts[host].ranks > 1 ? host : -1, comm_check_transfer_max(c->kind),
                         take_within, c, err) != 0)
        return -1;
    step_limit_next(c->limit, COMM_CHECK_OPEN_SECONDS, "the all-reduces within other hosts");
    if (comm_gather(c->comm, &c->hosts[host].within, sizeof(*all), all, err) != 0)
        return -1;
    for (int rank = 0; rank < ranks; rank++)
        c->hosts[c->host_of[rank]].within = all[rank];
    return 0;
}
