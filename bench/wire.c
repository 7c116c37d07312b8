/* Ways to sum gradients over TCP, alternating in one run: all ranks at once; hierarchically, inside
 * each host, between the hosts' first ranks, and back; and all at once with f16 and bf16 on the
 * wire. Then buckets of several sizes that travel while a backward pass computes, and what of them
 * is left when it ends: `bench_wire BYTES ROUNDS HOSTS`, as each rank of a job
 * (app/device/rank_variables.h). The ranks are divided evenly over HOSTS. Rank 0 prints medians. */
#include "common/clock.h"
#include "trainer/app/device/ranks.h"
#include "trainer/comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 1000, BUCKETS_MAX = 128, WAYS = 4 };

struct wire {
    struct comm *all, *host, *leaders; /* leaders: NULL but on the first rank of a host */
    size_t count;
    float *values;
};

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int open_wire(struct wire *w, size_t bytes, int hosts, struct error *err) {
    const int size = comm_size(w->all), each = size / hosts, rank = comm_rank(w->all);
    if (each < 1 || each * hosts != size)
        return error_set(err, EXIT_CODE_USAGE, "%d ranks on %d hosts", size, hosts);
    w->count = bytes / sizeof(float);
    w->values = calloc(w->count + 1, sizeof(float));
    if (w->values == NULL)
        return error_no_memory(err, "values");
    return comm_split(w->all, rank / each, &w->host, err) != 0 ||
                   comm_split(w->all, rank % each == 0 ? 0 : -1, &w->leaders, err) != 0
               ? -1
               : 0;
}

static int plain(struct wire *w, struct error *err) {
    return comm_sum(w->all, w->values, w->count, COMM_F32, err);
}

static int hierarchical(struct wire *w, struct error *err) {
    if (comm_sum(w->host, w->values, w->count, COMM_F32, err) != 0 ||
        (w->leaders != NULL && comm_sum(w->leaders, w->values, w->count, COMM_F32, err) != 0))
        return -1;
    return comm_broadcast(w->host, w->values, w->count * sizeof(float), 0, err);
}

static int in_f16(struct wire *w, struct error *err) {
    return comm_sum(w->all, w->values, w->count, COMM_F32_AS_F16, err);
}

static int in_bf16(struct wire *w, struct error *err) {
    return comm_sum(w->all, w->values, w->count, COMM_F32_AS_BF16, err);
}

/* One round of WAY, in nanoseconds. */
static int timed(struct wire *w, int (*way)(struct wire *w, struct error *err), int64_t *ret,
                 struct error *err) {
    for (size_t i = 0; i < w->count; i++)
        w->values[i] = (float)((i + (size_t)comm_rank(w->all)) % 17);
    if (comm_barrier(w->all, err) != 0)
        return -1;
    const int64_t began = clock_now();
    const int result = way(w, err);
    *ret = clock_now() - began;
    /* Whole numbers: all ways have to give the same ones. */
    float expected = 0;
    for (int rank = 0; rank < comm_size(w->all); rank++)
        expected += (float)((5 + (size_t)rank) % 17);
    return result != 0 ? -1
           : w->count > 5 && !(w->values[5] == expected)
               ? error_set(err, EXIT_CODE_INTERNAL, "another sum")
               : 0;
}

static double median_ms(int64_t *times, int rounds) {
    qsort(times, (size_t)rounds, sizeof(*times), ascending);
    return (double)times[rounds / 2] / 1e6;
}

static int compare_ways(struct wire *w, int rounds, int hosts, double *ret_plain,
                        struct error *err) {
    static int (*const ways[])(struct wire * w, struct error * err) = {plain, hierarchical, in_f16,
                                                                       in_bf16};
    static const char *const names[] = {"plain", "hierarchical", "f16", "bf16"};
    static int64_t times[WAYS][ROUNDS_MAX];
    double ms[WAYS];
    for (int i = -1; i < rounds; i++)
        for (int k = 0; k < WAYS; k++)
            if (timed(w, ways[k], &times[k][i < 0 ? 0 : i], err) != 0)
                return error_wrap(err, "%s", names[k]);
    for (int k = 0; k < WAYS; k++)
        ms[k] = median_ms(times[k], rounds);
    *ret_plain = ms[0];
    if (comm_rank(w->all) == 0)
        printf("ranks=%d hosts=%d bytes=%zu plain_ms=%.3f hierarchical=%.2f f16=%.2f bf16=%.2f\n",
               comm_size(w->all), hosts, w->count * sizeof(float), ms[0], ms[0] / ms[1],
               ms[0] / ms[2], ms[0] / ms[3]);
    return 0;
}

/* A backward pass that computes for MS and starts a bucket of BYTES whenever one is complete;
 * *RET is how long it waits at its end, ns. */
static int overlapped(struct wire *w, double ms, size_t bytes, int64_t *ret, struct error *err) {
    const size_t all = w->count * sizeof(float);
    size_t buckets = (all + bytes - 1) / bytes;
    uint64_t ticket = 0;
    volatile float sink = 0;
    buckets = buckets > BUCKETS_MAX ? BUCKETS_MAX : buckets;
    if (comm_barrier(w->all, err) != 0)
        return -1;
    const int64_t began = clock_now();
    for (size_t k = 0; k < buckets; k++) {
        const int64_t until = began + (int64_t)(ms * 1e6 * (double)(k + 1) / (double)buckets);
        while (clock_now() < until)
            sink = sink * 0.5F + 1;
        const size_t at = w->count * k / buckets, end = w->count * (k + 1) / buckets;
        if (comm_sum_start(w->all, w->values + at, end - at, COMM_F32, &ticket, err) != 0)
            return -1;
    }
    const int64_t computed = clock_now();
    if (comm_wait(w->all, ticket, err) != 0)
        return -1;
    *ret = clock_now() - computed;
    return 0;
}

static int compare_buckets(struct wire *w, int rounds, double ms, struct error *err) {
    static const size_t sizes[] = {25 << 20, 1 << 20, 4 << 20, 64 << 20};
    static int64_t times[4][ROUNDS_MAX];
    for (int i = -1; i < rounds; i++)
        for (int k = 0; k < 4; k++) {
            memset(w->values, 0, w->count * sizeof(float));
            if (overlapped(w, ms, sizes[k], &times[k][i < 0 ? 0 : i], err) != 0)
                return -1;
        }
    for (int k = 0; k < 4; k++) {
        const double exposed = median_ms(times[k], rounds);
        if (comm_rank(w->all) == 0)
            printf("ranks=%d bytes=%zu backward_ms=%.1f bucket_mib=%zu exposed_ms=%.3f\n",
                   comm_size(w->all), w->count * sizeof(float), ms, sizes[k] >> 20, exposed);
    }
    return 0;
}

int main(int argc, char **argv) {
    struct error err = {0};
    struct wire w = {0};
    double ms[2] = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: bench_wire BYTES ROUNDS HOSTS\n");
        return EXIT_CODE_USAGE;
    }
    const int rounds = atoi(argv[2]) < ROUNDS_MAX ? atoi(argv[2]) : ROUNDS_MAX;
    if (ranks_open(OPTION_COMM_TCP, &w.all, &err) != 0 ||
        open_wire(&w, (size_t)atoll(argv[1]), atoi(argv[3]), &err) != 0 ||
        compare_ways(&w, rounds, atoi(argv[3]), &ms[0], &err) != 0 ||
        comm_broadcast(w.all, ms, sizeof(ms), 0, &err) != 0 ||
        (w.count * sizeof(float) > 32 << 20 && compare_buckets(&w, rounds, ms[0], &err) != 0)) {
        fprintf(stderr, "%s\n", err.text);
        return (int)err.code;
    }
    comm_close(w.leaders);
    comm_close(w.host);
    comm_close(w.all);
    free(w.values);
    return 0;
}
