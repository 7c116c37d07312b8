#include "trainer/app/comm_check/comm_check.h"

#include "common/cleanup.h"
#include "trainer/app/comm_check/comm_check_hosts.h"
#include "trainer/app/comm_check/comm_check_pairs.h"

/* Sizes of messages among all ranks. reference_rates.c has figures for those of NCCL. */
static const size_t sizes_mpi[] = {8, 1 << 10, 32 << 10, 1 << 20, 16 << 20};
static const size_t sizes_nccl[] = {8, 32 << 10, 1 << 20, 16 << 20, 128 << 20, 1 << 30};

static const double SIZE_BUDGET = 0.5; /* seconds for each size */
static const double SUM_MOST = 2;      /* no larger message if it would take longer */

static size_t sizes_of(enum reducer_kind kind, const size_t **ret) {
    *ret = kind == REDUCER_NCCL ? sizes_nccl : sizes_mpi;
    return kind == REDUCER_NCCL ? sizeof(sizes_nccl) / sizeof(sizes_nccl[0])
                                : sizeof(sizes_mpi) / sizeof(sizes_mpi[0]);
}

/* All ranks know the same measurements, and so stop after the same size. */
static bool fits(const struct measurement *last, size_t bytes) {
    return last->seconds * (double)bytes / (double)last->bytes < SUM_MOST;
}

static int measure_sizes(struct comm_check *c, struct reducer *r, struct error *err) {
    const size_t *sizes = NULL;
    const size_t count = sizes_of(c->kind, &sizes);
    for (size_t i = 0; i < count; i++) {
        if (i > 1 && !fits(&c->sizes[i - 1], sizes[i]))
            break;
        step_limit_next(c->limit, COMM_CHECK_STEP_SECONDS,
                        "the all-reduce of %zu bytes among all %d ranks", sizes[i],
                        comm_size(c->comm));
        if (measurement_take(r, c->comm, sizes[i], SIZE_BUDGET, &c->sizes[i], err) != 0)
            return -1;
        c->size_count = i + 1;
    }
    return 0;
}

static int measure_all(struct comm_check *c, struct error *err) {
    const size_t *sizes = NULL;
    const size_t count = sizes_of(c->kind, &sizes);
    struct reducer r = {0};
    step_limit_next(c->limit, COMM_CHECK_OPEN_SECONDS, "connecting all %d ranks",
                    comm_size(c->comm));
    int result =
        reducer_open(&r, c->kind, c->comm, comm_local_rank(c->comm), sizes[count - 1], err);
    if (result == 0)
        result = measure_sizes(c, &r, err);
    return reducer_close(&r) != 0 ? -1 : result;
}

int comm_check_run(struct comm_check *c, enum reducer_kind kind, struct comm *comm,
                   struct step_limit *limit, struct error *err) {
    *c = (struct comm_check){.kind = kind, .comm = comm, .limit = limit, .bad_host = -1};
    step_limit_next(limit, COMM_CHECK_STEP_SECONDS, "telling all ranks the hosts of the others");
    if (comm_check_hosts_find(c, err) != 0 || comm_check_hosts_measure(c, err) != 0 ||
        comm_check_pairs_measure(c, err) != 0)
        return -1;
    return measure_all(c, err);
}
