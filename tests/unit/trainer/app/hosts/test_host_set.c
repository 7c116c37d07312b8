/* Ranks as threads of one process; test_host_set.sh has processes. */
#include "trainer/app/hosts/host_set.h"

#include "tests/unit/trainer/app/hosts/sets.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"

#include <pthread.h>
#include <stdlib.h>

enum { RANKS = 3, GATHERED_MAX = 4096 };

struct meeting {
    pthread_barrier_t barrier;
    char all[RANKS * GATHERED_MAX];
};

struct rank {
    struct comm base;
    struct meeting *meeting;
    const char *path;
    int fails; /* number of the call that fails, counted from 0; -1: none does */
    int calls;
    int least_patience; /* of the calls after the first, in seconds */
    struct dataset set;
    struct error err;
    int result;
};

static int counted(struct rank *rank, struct error *err) {
    if (rank->calls > 0 && rank->base.patience < rank->least_patience)
        rank->least_patience = rank->base.patience;
    return rank->calls++ == rank->fails ? error_set(err, EXIT_CODE_STALLED, "a rank is gone") : 0;
}

static int gather(struct comm *c, const void *bytes, size_t size, void *all, struct error *err) {
    struct rank *rank = (struct rank *)c;
    CU_ASSERT_FATAL(size <= GATHERED_MAX);
    memcpy(rank->meeting->all + (size_t)c->rank * size, bytes, size);
    (void)pthread_barrier_wait(&rank->meeting->barrier);
    memcpy(all, rank->meeting->all, (size_t)c->size * size);
    (void)pthread_barrier_wait(&rank->meeting->barrier);
    return counted(rank, err);
}

static int barrier(struct comm *c, struct error *err) {
    struct rank *rank = (struct rank *)c;
    (void)pthread_barrier_wait(&rank->meeting->barrier);
    return counted(rank, err);
}

static const struct comm_driver DRIVER = {.gather = gather, .barrier = barrier};

static void *open_as_rank(void *argument) {
    struct rank *rank = argument;
    const struct shards_reading reading = {0};
    rank->result = host_set_open(&rank->set, rank->path, &reading, &rank->base, &rank->err);
    return NULL;
}

/* Opens the set PATHS[i] on rank i. FAILS: the call that fails on all ranks. */
static void open_on_all(struct rank ranks[RANKS], const char *const paths[RANKS], int fails) {
    static struct meeting meeting;
    pthread_t threads[RANKS];
    CU_ASSERT_EQUAL_FATAL(pthread_barrier_init(&meeting.barrier, NULL, RANKS), 0);
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (struct rank){.base = {.driver = &DRIVER, .rank = i, .size = RANKS},
                                 .meeting = &meeting,
                                 .path = paths[i],
                                 .fails = fails,
                                 .least_patience = INT32_MAX};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, open_as_rank, &ranks[i]), 0);
    }
    for (int i = 0; i < RANKS; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_barrier_destroy(&meeting.barrier);
}

static void close_all(struct rank ranks[RANKS]) {
    for (int i = 0; i < RANKS; i++)
        dataset_done(&ranks[i].set);
}

static const char *kept(const char *name) {
    char *path = strdup(shards_path(name));
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    return path;
}

static const char *pictures, *shards, *shard, *none;

static void prepare(void) {
    if (pictures != NULL)
        return;
    make_sets();
    pictures = kept("pictures");
    shards = kept("shards");
    shard = kept("shards/0.tar");
    none = kept("none");
}

static void the_first_rank_opens_the_set_and_the_others_map_it(void) {
    prepare();
    const char *const sets[] = {pictures, shards};
    for (int s = 0; s < 2; s++) {
        const char *const paths[RANKS] = {sets[s], sets[s], sets[s]};
        cleanup_dataset struct dataset plain = {0};
        struct rank ranks[RANKS];
        CU_ASSERT_EQUAL_FATAL(dataset_open(&plain, sets[s], 0, NULL), 0);
        open_on_all(ranks, paths, -1);
        for (int i = 0; i < RANKS; i++) {
            CU_ASSERT_EQUAL_FATAL(ranks[i].result, 0);
            CU_ASSERT(lies_in_memory(&ranks[i].set, ranks[i].set.labels));
            check_same(&plain, &ranks[i].set);
            /* Only a rank that has scanned shards has something to tell of them. */
            CU_ASSERT_EQUAL(ranks[i].set.note != NULL, s == 1 && i == 0);
            CU_ASSERT_EQUAL(ranks[i].base.patience, 0);
            CU_ASSERT(ranks[i].least_patience > COMM_DEADLINE_SECONDS);
        }
        close_all(ranks);
    }
}

static void ranks_with_other_data_have_their_own(void) {
    const char *const paths[RANKS] = {shards, pictures, shards};
    const char *const three[RANKS] = {shards, pictures, shard};
    struct rank ranks[RANKS];
    open_on_all(ranks, paths, -1);
    for (int i = 0; i < RANKS; i++) {
        CU_ASSERT_EQUAL_FATAL(ranks[i].result, 0);
        CU_ASSERT_EQUAL(ranks[i].set.memory != NULL, i != 1);
        CU_ASSERT_EQUAL(ranks[i].set.kind, i == 1 ? DATASET_FOLDER : DATASET_SHARDS);
        CU_ASSERT_EQUAL(ranks[i].set.count, PICTURE_COUNT);
    }
    close_all(ranks);
    open_on_all(ranks, three, -1);
    for (int i = 0; i < RANKS; i++) {
        CU_ASSERT_EQUAL_FATAL(ranks[i].result, 0);
        CU_ASSERT_PTR_NULL(ranks[i].set.memory);
        /* None shares, so none waits for another one's scan. */
        CU_ASSERT_EQUAL(ranks[i].calls, 1);
    }
    CU_ASSERT_EQUAL(ranks[2].set.count, PICTURE_COUNT / 2);
    close_all(ranks);
}

static void all_ranks_fail_with_the_error_of_the_first(void) {
    const char *const paths[RANKS] = {none, none, none};
    const char *const last[RANKS] = {shards, shards, none};
    const char *const mixed[RANKS] = {none, shards, shards};
    struct rank ranks[RANKS];
    open_on_all(ranks, paths, -1);
    for (int i = 0; i < RANKS; i++) {
        CU_ASSERT_EQUAL(ranks[i].result, -1);
        CU_ASSERT_EQUAL(ranks[i].err.code, EXIT_CODE_DATA);
        CU_ASSERT_STRING_EQUAL(ranks[i].err.text, ranks[0].err.text);
        ASSERT_CONTAINS(ranks[i].err.text, none);
        CU_ASSERT_PTR_NULL(ranks[i].set.labels);
    }
    for (int turn = 0; turn < 2; turn++) {
        const int bad = turn == 0 ? 2 : 0;
        open_on_all(ranks, turn == 0 ? last : mixed, -1);
        for (int i = 0; i < RANKS; i++) {
            CU_ASSERT_EQUAL(ranks[i].result, -1);
            CU_ASSERT_EQUAL(ranks[i].err.code, EXIT_CODE_DATA);
            ASSERT_CONTAINS(ranks[i].err.text, none);
            CU_ASSERT_EQUAL(strstr(ranks[i].err.text, bad == 2 ? "on rank 2: " : "on rank 0: ") !=
                                NULL,
                            i != bad);
            CU_ASSERT_PTR_NULL(ranks[i].set.labels);
        }
    }
}

static void a_rank_that_is_gone_is_reported_unless_the_data_was_wrong(void) {
    const char *const good[RANKS] = {shards, shards, shards};
    const char *const bad[RANKS] = {none, none, none};
    struct rank ranks[RANKS];
    for (int fails = 0; fails < 3; fails++) {
        open_on_all(ranks, good, fails);
        for (int i = 0; i < RANKS; i++) {
            CU_ASSERT_EQUAL(ranks[i].result, -1);
            CU_ASSERT_EQUAL(ranks[i].err.code, EXIT_CODE_STALLED);
            CU_ASSERT_PTR_NULL(ranks[i].set.labels);
        }
    }
    for (int fails = 0; fails < 3; fails++) {
        open_on_all(ranks, bad, fails);
        for (int i = 0; i < RANKS; i++) {
            CU_ASSERT_EQUAL(ranks[i].result, -1);
            CU_ASSERT_EQUAL(ranks[i].err.code,
                            fails == 0 || i > 0 ? EXIT_CODE_STALLED : EXIT_CODE_DATA);
        }
    }
}

static void a_single_rank_meets_nobody(void) {
    struct comm *comm = NULL;
    const struct shards_reading reading = {0};
    cleanup_dataset struct dataset set = {0};
    struct rank lone = {.base = {.driver = &DRIVER, .size = 1}};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&comm, NULL), 0);
    CU_ASSERT_EQUAL(host_set_open(&set, shards, &reading, comm, NULL), 0);
    CU_ASSERT(set.memory == NULL && set.count == PICTURE_COUNT);
    comm_close(comm);
    dataset_done(&set);
    CU_ASSERT_EQUAL(host_set_open(&set, shards, &reading, &lone.base, NULL), 0);
    CU_ASSERT_EQUAL(lone.calls, 0);
}

UNIT_SUITE("app.host_set", UNIT(the_first_rank_opens_the_set_and_the_others_map_it),
           UNIT(ranks_with_other_data_have_their_own),
           UNIT(all_ranks_fail_with_the_error_of_the_first),
           UNIT(a_rank_that_is_gone_is_reported_unless_the_data_was_wrong),
           UNIT(a_single_rank_meets_nobody))
