#include "tests/support/unit.h"
#include "tests/unit/trainer/comm/tcp/rank_threads.h"
#include "trainer/comm/ordered_sum.h"
#include "trainer/comm/shares.h"
#include "trainer/comm/tcp/collectives.h"

#include <stdlib.h>
#include <string.h>

static float value_of(int rank, size_t i) {
    return (float)((i * 2654435761u + (size_t)rank * 40503u) % 100003) * 1e-3f / (float)(rank + 1);
}

/* Returns whether this rank gets the right sums, whichever way the values travel. */
static bool sums_right(struct comm *c, size_t count, enum comm_type type) {
    const size_t width = type == COMM_F32 ? sizeof(float) : sizeof(double);
    const int ranks = comm_size(c);
    const void *pieces[RANK_THREADS_MAX];
    char *memory = malloc((size_t)(ranks + 1) * count * width + 1);
    for (int rank = 0; rank < ranks; rank++) {
        char *piece = memory + (size_t)rank * count * width;
        pieces[rank] = piece;
        for (size_t i = 0; i < count; i++) {
            if (type == COMM_F32)
                ((float *)piece)[i] = value_of(rank, i);
            else
                ((double *)piece)[i] = value_of(rank, i) / 3;
        }
    }
    char *own = memory + (size_t)ranks * count * width;
    if (count > 0)
        memcpy(own, pieces[comm_rank(c)], count * width);
    bool ok = comm_sum(c, own, count, type, NULL) == 0;
    char *expected = memory;
    ordered_sum(expected, pieces, ranks, count, type);
    ok = ok && memcmp(own, expected, count * width) == 0;
    free(memory);
    return ok;
}

static bool sum_all_sizes(struct comm *c, void *context) {
    (void)context;
    static const size_t counts[] = {0,
                                    1,
                                    2,
                                    7,
                                    1000,
                                    COLLECTIVES_SHORT_BYTES / sizeof(float),
                                    100003,
                                    COLLECTIVES_SEGMENT_BYTES / sizeof(float) + 1,
                                    2 * COLLECTIVES_SEGMENT_BYTES / 4 + 12345};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (!sums_right(c, counts[i], COMM_F32))
            return false;
    return sums_right(c, 5, COMM_F64) && sums_right(c, 300001, COMM_F64);
}

static void sums_have_the_bits_of_a_sum_in_order(void) {
    CU_ASSERT_EQUAL(rank_threads_all(2, sum_all_sizes, NULL), 2);
    CU_ASSERT_EQUAL(rank_threads_all(3, sum_all_sizes, NULL), 3);
    CU_ASSERT_EQUAL(rank_threads_all(5, sum_all_sizes, NULL), 5);
    CU_ASSERT_EQUAL(rank_threads_all(RANK_THREADS_MAX, sum_all_sizes, NULL), RANK_THREADS_MAX);
}

/* Shares of COUNT elements; with SERVE those of the workers are empty, as the servers own
 * everything. */
static struct comm_shares shares_of(size_t count, int ranks, int workers, bool serve,
                                    size_t bounds[RANK_THREADS_MAX + 1]) {
    const int first = serve ? workers : 0;
    for (int i = 0; i <= ranks; i++)
        bounds[i] = 3 + (i <= first ? 0 : count * (size_t)(i - first) / (size_t)(ranks - first));
    return (struct comm_shares){bounds, workers};
}

/* Each owner gets the sum of the workers' values, and nothing else is changed; then the workers get
 * the whole sum. */
static bool shares_right(struct comm *c, size_t count, int workers, bool serve) {
    const int ranks = comm_size(c), rank = comm_rank(c);
    size_t bounds[RANK_THREADS_MAX + 1];
    const struct comm_shares shares = shares_of(count, ranks, workers, serve, bounds);
    const size_t all = count + 6, bytes = all * sizeof(float);
    float *values = malloc(2 * bytes), *expected = values + all;
    uint64_t ticket = 0;
    for (size_t i = 0; i < all; i++)
        values[i] = value_of(rank, i);
    bool ok = comm_share_sum_start(c, values, &shares, &ticket, NULL) == 0 &&
              comm_wait(c, ticket, NULL) == 0;
    for (size_t i = 0; i < all; i++) {
        expected[i] = value_of(0, i);
        for (int k = 1; k < workers; k++)
            expected[i] += value_of(k, i);
        const bool own = i >= bounds[rank] && i < bounds[rank + 1];
        ok = ok && values[i] == (own ? expected[i] : value_of(rank, i));
    }
    ok = ok && comm_share_spread_start(c, values, &shares, &ticket, NULL) == 0 &&
         comm_wait(c, ticket, NULL) == 0;
    for (size_t i = bounds[0]; ok && rank < workers && i < bounds[ranks]; i++)
        ok = values[i] == expected[i];
    free(values);
    return ok;
}

static bool share_all_sizes(struct comm *c, void *context) {
    static const size_t counts[] = {0, 1, 5, 1000, 70001, SHARES_ROUND_BYTES / 4 + 77};
    (void)context;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (!shares_right(c, counts[i], comm_size(c), false) ||
            !shares_right(c, counts[i], comm_size(c) - 1, true) ||
            !shares_right(c, counts[i], 1, false))
            return false;
    return true;
}

static void shares_of_a_sum_are_those_of_a_sum_in_order(void) {
    CU_ASSERT_EQUAL(rank_threads_all(2, share_all_sizes, NULL), 2);
    CU_ASSERT_EQUAL(rank_threads_all(3, share_all_sizes, NULL), 3);
    CU_ASSERT_EQUAL(rank_threads_all(6, share_all_sizes, NULL), 6);
}

static bool several_at_once(struct comm *c, void *context) {
    enum { WORKS = 40, EACH = 5000 };
    (void)context;
    float *values = malloc(sizeof(float) * WORKS * EACH);
    uint64_t tickets[WORKS];
    bool ok = true;
    for (size_t i = 0; i < (size_t)WORKS * EACH; i++)
        values[i] = (float)(comm_rank(c) + 1);
    for (size_t i = 0; i < WORKS; i++)
        ok = ok && comm_sum_start(c, values + i * EACH, EACH, COMM_F32, &tickets[i], NULL) == 0;
    ok = ok && comm_wait(c, tickets[WORKS - 1], NULL) == 0;
    const float expected = (float)(comm_size(c) * (comm_size(c) + 1)) / 2;
    for (size_t i = 0; ok && i < (size_t)WORKS * EACH; i++)
        ok = values[i] == expected;
    free(values);
    return ok;
}

static void sums_travel_while_others_are_started(void) {
    CU_ASSERT_EQUAL(rank_threads_all(4, several_at_once, NULL), 4);
}

static bool broadcasts(struct comm *c, void *context) {
    static const size_t sizes[] = {0, 1, 100, COLLECTIVES_SHORT_BYTES + 1, 3000007};
    (void)context;
    for (int root = 0; root < comm_size(c); root++) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            unsigned char *bytes = malloc(sizes[k] + 1);
            for (size_t i = 0; i < sizes[k]; i++)
                bytes[i] = (unsigned char)(comm_rank(c) == root ? i * 31 + k : 0xee);
            bool ok = comm_broadcast(c, bytes, sizes[k], root, NULL) == 0;
            for (size_t i = 0; ok && i < sizes[k]; i++)
                ok = bytes[i] == (unsigned char)(i * 31 + k);
            free(bytes);
            if (!ok)
                return false;
        }
    }
    return true;
}

static bool gathers(struct comm *c, void *context) {
    enum { EACH = 70001 };
    (void)context;
    const int ranks = comm_size(c);
    char *own = malloc(EACH);
    char *all_of = malloc((size_t)EACH * (size_t)ranks);
    memset(own, 'a' + comm_rank(c), EACH);
    bool ok = comm_gather(c, own, EACH, all_of, NULL) == 0 && comm_barrier(c, NULL) == 0;
    for (size_t i = 0; ok && i < (size_t)EACH * (size_t)ranks; i++)
        ok = all_of[i] == (char)('a' + i / EACH);
    free(own);
    free(all_of);
    return ok;
}

static void broadcasts_and_gathers_reach_all(void) {
    CU_ASSERT_EQUAL(rank_threads_all(2, broadcasts, NULL), 2);
    CU_ASSERT_EQUAL(rank_threads_all(4, broadcasts, NULL), 4);
    CU_ASSERT_EQUAL(rank_threads_all(2, gathers, NULL), 2);
    CU_ASSERT_EQUAL(rank_threads_all(5, gathers, NULL), 5);
}

/* Ranks 0, 2 and 4 form a group, 1 and 3 another, and 5 none. */
static bool groups(struct comm *c, void *context) {
    (void)context;
    const int rank = comm_rank(c);
    struct comm *part = NULL;
    if (comm_split(c, rank == 5 ? -1 : rank % 2, &part, NULL) != 0)
        return false;
    bool ok = rank == 5 ? part == NULL
                        : comm_rank(part) == rank / 2 && comm_size(part) == 3 - rank % 2 &&
                              comm_local_rank(part) == rank / 2 &&
                              comm_local_size(part) == comm_size(part);
    float value = (float)(rank + 1);
    if (ok && part != NULL)
        ok = comm_sum(part, &value, 1, COMM_F32, NULL) == 0 && value == (rank % 2 ? 6.0F : 9.0F);
    comm_close(part);
    value = 1;
    return ok && comm_sum(c, &value, 1, COMM_F32, NULL) == 0 && value == 6;
}

static void groups_of_ranks_talk_over_the_same_connections(void) {
    CU_ASSERT_EQUAL(rank_threads_all(6, groups, NULL), 6);
}

/* Rank 1 leaves; the others' call reports that, and every later call fails as well. */
static bool one_leaves(struct comm *c, void *context) {
    struct error err = {0};
    float value = 1;
    (void)context;
    if (comm_rank(c) == 1)
        return true;
    bool ok = comm_sum(c, &value, 1, COMM_F32, &err) != 0;
    return ok && strstr(err.text, "rank 1 at 127.0.0.1 has closed its connection") != NULL &&
           comm_barrier(c, NULL) != 0;
}

static void a_rank_that_leaves_is_named(void) {
    CU_ASSERT_EQUAL(rank_threads_all(3, one_leaves, NULL), 3);
}

static bool other_calls(struct comm *c, void *context) {
    struct error err = {0};
    float values[2] = {1, 2};
    (void)context;
    bool ok = comm_sum(c, values, comm_rank(c) == 0 ? 1 : 2, COMM_F32, &err) != 0;
    return ok && strstr(err.text, "ranks make different calls") != NULL && values[1] == 2;
}

static void ranks_that_make_different_calls_are_reported(void) {
    CU_ASSERT_EQUAL(rank_threads_all(2, other_calls, NULL), 2);
}

/* Rank 2 no longer takes part; the others sum without it, in their order. */
static bool go_on_without_one(struct comm *c, void *context) {
    static const unsigned char gone[] = {0, 0, 1, 0};
    const int rank = comm_rank(c);
    struct comm *group = NULL;
    bool ok = comm_split(c, 0, &group, NULL) == 0;
    (void)context;
    if (ok && rank != 2)
        ok = comm_narrow(group, gone, NULL) == 0 && comm_size(group) == 3 &&
             comm_rank(group) == (rank == 3 ? 2 : rank) && sums_right(group, 100003, COMM_F32);
    comm_close(group);
    return ok && comm_barrier(c, NULL) == 0;
}

static void ranks_go_on_without_one_that_is_lost(void) {
    CU_ASSERT_EQUAL(rank_threads_all(4, go_on_without_one, NULL), 4);
}

/* Each rank sends bytes to the next one, in a ring. */
static bool move_round(struct comm *c, void *context) {
    const int size = comm_size(c), rank = comm_rank(c);
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    const int32_t own = 100 + rank;
    int32_t got = 0;
    struct comm_part parts[RANK_THREADS_MAX] = {0};
    (void)context;
    parts[next].out = &own;
    parts[next].out_size = sizeof(own);
    parts[before].in = &got;
    parts[before].in_size = sizeof(got);
    return comm_move(c, parts, NULL) == 0 && got == 100 + before && comm_socket(c, next) >= 0 &&
           comm_socket(c, rank) < 0 && comm_socket(c, size) < 0 &&
           /* comm_move is not collective: collective calls still match. */
           sums_right(c, 5, COMM_F32);
}

static void parts_move_between_some_ranks(void) {
    CU_ASSERT_EQUAL(rank_threads_all(2, move_round, NULL), 2);
    CU_ASSERT_EQUAL(rank_threads_all(5, move_round, NULL), 5);
}

UNIT_SUITE("comm.tcp.comm_tcp", UNIT(sums_have_the_bits_of_a_sum_in_order),
           UNIT(shares_of_a_sum_are_those_of_a_sum_in_order),
           UNIT(sums_travel_while_others_are_started), UNIT(broadcasts_and_gathers_reach_all),
           UNIT(groups_of_ranks_talk_over_the_same_connections), UNIT(a_rank_that_leaves_is_named),
           UNIT(ranks_that_make_different_calls_are_reported), UNIT(parts_move_between_some_ranks),
           UNIT(ranks_go_on_without_one_that_is_lost), )
