/* Ranks that are threads, connected to rank 0; strangers at its port; and a rank that ends. */
#include "entrypoint/study/star.h"

#include "common/clock.h"
#include "tests/support/ports.h"
#include "tests/support/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4 };

struct rank {
    struct star_place place;
    struct error err;
    int opened, gathered, sent;
    int64_t all[RANKS];
    int64_t word;
    int rounds; /* that it takes part in */
    int64_t limit;
};

/* Another one each time, which no test beside this one is given. */
static uint16_t free_port(void) {
    static unsigned count;
    CU_ASSERT_FATAL(ports_own() != 0);
    return (uint16_t)(ports_own() + count++ % PORTS_EACH);
}

static void *run(void *context) {
    struct rank *r = context;
    cleanup_star struct star star = {0};
    r->opened = star_open(&star, &r->place, clock_now() + r->limit, &r->err);
    if (r->opened != 0)
        return NULL;
    const struct slot_group g = star_group(&star);
    for (int i = 0; i < r->rounds && r->gathered == 0 && r->sent == 0; i++) {
        const int64_t own = 100 * (i + 1) + r->place.rank;
        r->word = r->place.rank == 0 ? 7 + i : 0;
        r->gathered = g.gather(g.context, &own, sizeof(own), r->all, &r->err);
        if (r->gathered == 0)
            r->sent = g.broadcast(g.context, &r->word, sizeof(r->word), &r->err);
    }
    return NULL;
}

static void prepare(struct rank ranks[RANKS], uint16_t port) {
    for (int i = 0; i < RANKS; i++)
        ranks[i] = (struct rank){.place = {i, RANKS, RANKS, "127.0.0.1", port, "0123456789abcdef"},
                                 .rounds = 3,
                                 .limit = 60 * CLOCK_SECOND};
}

static void run_all(struct rank ranks[RANKS]) {
    pthread_t threads[RANKS];
    /* Rank 0 comes last. */
    for (int i = RANKS - 1; i >= 0; i--)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, run, &ranks[i]), 0);
    for (int i = 0; i < RANKS; i++)
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
}

static void all_ranks_have_what_all_say(void) {
    struct rank ranks[RANKS];
    prepare(ranks, free_port());
    run_all(ranks);
    for (int i = 0; i < RANKS; i++) {
        CU_ASSERT_EQUAL_FATAL(ranks[i].opened, 0);
        CU_ASSERT_EQUAL(ranks[i].gathered, 0);
        CU_ASSERT_EQUAL(ranks[i].sent, 0);
        CU_ASSERT_EQUAL(ranks[i].word, 9);
        for (int k = 0; k < RANKS; k++)
            CU_ASSERT_EQUAL(ranks[i].all[k], 300 + k);
    }
}

static void a_rank_that_ends_is_lost_to_the_others(void) {
    struct rank ranks[RANKS];
    prepare(ranks, free_port());
    ranks[2].rounds = 1;
    run_all(ranks);
    CU_ASSERT_EQUAL(ranks[2].gathered, 0);
    CU_ASSERT_EQUAL(ranks[0].gathered, -1);
    CU_ASSERT_EQUAL(ranks[0].err.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_PTR_NOT_NULL(strstr(ranks[0].err.text, "rank 2"));
    CU_ASSERT_TRUE(ranks[1].gathered != 0 || ranks[1].sent != 0);
    CU_ASSERT_EQUAL(ranks[1].err.code, EXIT_CODE_HOST_LOST);
}

static void a_rank_of_another_run_is_not_let_in(void) {
    struct rank ranks[RANKS];
    prepare(ranks, free_port());
    for (int i = 0; i < RANKS; i++)
        ranks[i].limit = CLOCK_SECOND;
    ranks[3].place.run[0] = 'f';
    run_all(ranks);
    for (int i = 0; i < RANKS; i++) {
        CU_ASSERT_EQUAL(ranks[i].opened, -1);
        CU_ASSERT_EQUAL(ranks[i].err.code, EXIT_CODE_NOT_READY);
    }
    CU_ASSERT_STRING_EQUAL(ranks[0].err.text, "3 of 4 ranks have come");
}

static void a_place_is_what_the_launcher_says(void) {
    struct star_place p;
    struct error err = {0};
    (void)unsetenv("WORLD_SIZE");
    CU_ASSERT_EQUAL(star_place_read(&p, &err), 0);
    CU_ASSERT_EQUAL(p.size, 1);
    (void)setenv("WORLD_SIZE", "4", 1);
    (void)setenv("RANK", "3", 1);
    (void)setenv("LOCAL_WORLD_SIZE", "2", 1);
    (void)setenv("MASTER_ADDR", "algo-1", 1);
    (void)setenv("MASTER_PORT", "7073", 1);
    (void)setenv("RINGMASTER_RUN_ID", "0123456789abcdef", 1);
    CU_ASSERT_EQUAL(star_place_read(&p, &err), 0);
    CU_ASSERT_EQUAL(p.rank, 3);
    CU_ASSERT_EQUAL(p.size, 4);
    CU_ASSERT_EQUAL(p.local_size, 2);
    CU_ASSERT_EQUAL(p.port, 7073);
    CU_ASSERT_STRING_EQUAL(p.address, "algo-1");
    (void)setenv("RANK", "4", 1);
    CU_ASSERT_EQUAL(star_place_read(&p, &err), -1);
    (void)setenv("RANK", "3", 1);
    (void)setenv("RINGMASTER_RUN_ID", "short", 1);
    CU_ASSERT_EQUAL(star_place_read(&p, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    for (const char *const *n =
             (const char *const[]){"WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                                   "MASTER_PORT", "RINGMASTER_RUN_ID", NULL};
         *n != NULL; n++)
        (void)unsetenv(*n);
}

UNIT_SUITE("study.star", UNIT(all_ranks_have_what_all_say),
           UNIT(a_rank_that_ends_is_lost_to_the_others), UNIT(a_rank_of_another_run_is_not_let_in),
           UNIT(a_place_is_what_the_launcher_says))
