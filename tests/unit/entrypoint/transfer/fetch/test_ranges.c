#include "entrypoint/transfer/fetch/ranges.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "tests/unit/entrypoint/transfer/large_stage.h"

static int root = -1;

struct result {
    unsigned ended;
    struct error failure;
};

static void ended(void *context, const struct error *failure) {
    struct result *r = context;
    r->ended++;
    if (failure != NULL)
        r->failure = *failure;
}

static unsigned tries; /* of each piece; 0: as many as it has */

static bool more(void *context) {
    struct ranges *r = context;
    bool begun = ranges_more(r);
    for (size_t i = 0; begun && tries > 0 && i < RANGES_WIDTH; i++)
        r->pieces[i].exchange.tries = tries;
    return begun;
}

/* The pool's turns that digested data, at most one block each. */
static unsigned turns;

static bool aside(void *context) {
    struct ranges *r = context;
    int64_t before = r->digested;
    bool busy = ranges_digest(r);
    turns += busy;
    CU_ASSERT_TRUE(r->digested - before <= 4 * 1024 * 1024);
    return busy;
}

/* Returns whether it is to come in one stream. */
static bool fetch(const char *key, int64_t size, struct result *ret, int64_t *fetched) {
    static struct ranges r;
    struct exchange_pool pool;
    struct s3 s3;
    cleanup_argv struct argv environment = {0};
    large_s3(&environment, &s3);
    large_forget();
    *ret = (struct result){0};
    *fetched = 0;
    CU_ASSERT_EQUAL(exchange_pool_open(&pool, NULL, NULL), 0);
    pool.more = more;
    pool.aside = aside;
    turns = 0;
    pool.context = &r;
    const struct stream_order order = {.s3 = &s3,
                                       .bucket = "bucket",
                                       .key = key,
                                       .name = key,
                                       .root = root,
                                       .path = key,
                                       .size = size,
                                       .fetched = fetched,
                                       .ended = ended,
                                       .context = ret};
    ranges_start(&r, &order, &pool);
    CU_ASSERT_EQUAL(exchange_pool_run(&pool, clock_now() + 60 * CLOCK_SECOND, NULL), 0);
    exchange_pool_close(&pool);
    s3_close(&s3);
    CU_ASSERT_EQUAL(ret->ended, 1);
    return r.one_stream;
}

static void pieces_come_once_each_and_make_the_file(void) {
    static const char *const keys[] = {"whole", "cut"};
    for (size_t i = 0; i < 2; i++) {
        struct result r;
        int64_t fetched = 0;
        CU_ASSERT_FALSE(fetch(keys[i], LARGE_SIZE, &r, &fetched));
        CU_ASSERT_STRING_EQUAL(r.failure.text, "");
        CU_ASSERT_TRUE(large_is_whole(root, keys[i]));
        CU_ASSERT_EQUAL(fetched, LARGE_SIZE);
        CU_ASSERT_EQUAL(large_count(LARGE_HEADS), 1);
        /* If a part was cut off, only its rest comes again. */
        CU_ASSERT_EQUAL(large_count(LARGE_PARTS), i == 0 ? 5 : 6);
        CU_ASSERT_EQUAL(large_count(LARGE_MIB), 66);
        CU_ASSERT_EQUAL(large_count(LARGE_UNCONDITIONAL), 0);
        CU_ASSERT_EQUAL(large_count(LARGE_WHOLES), 0);
        CU_ASSERT_EQUAL(unlinkat(root, keys[i], 0), 0);
        CU_ASSERT_TRUE(safe_dir_is_empty(root, "nothing"));
    }
}

static void pieces_of_two_versions_never_mix(void) {
    static const char *const keys[] = {"changes", "mixes", "beyond"};
    for (size_t i = 0; i < 3; i++) {
        struct result r;
        int64_t fetched = 0;
        CU_ASSERT_FALSE(fetch(keys[i], LARGE_SIZE, &r, &fetched));
        ASSERT_CONTAINS(r.failure.text, "it changed while it was being fetched");
        CU_ASSERT_EQUAL(faccessat(root, keys[i], F_OK, 0), -1);
    }
}

static void what_cannot_come_in_pieces_is_left_to_one_stream(void) {
    static const struct {
        const char *key, *words;
        unsigned parts;
    } cases[] = {
        {"weak", "do not permit pieces", 0},
        {"small", "do not permit pieces", 0},
        {"headless", "the server answers 405", 0},
        {"streams", "does not send the requested part", 0},
        {"shifts", "does not send the requested part", 5},
        {"nameless", "does not send the requested part", 5},
        {"lies", "its MD5 does not match its ETag", 5},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct result r;
        int64_t fetched = 0;
        CU_ASSERT_TRUE(fetch(cases[i].key, -1, &r, &fetched));
        ASSERT_CONTAINS(r.failure.text, cases[i].words);
        CU_ASSERT_EQUAL(large_count(LARGE_PARTS), cases[i].parts);
        CU_ASSERT_EQUAL(fetched, 0);
        CU_ASSERT_EQUAL(faccessat(root, cases[i].key, F_OK, 0), -1);
    }
}

/* After its last byte. */
static void a_piece_that_breaks_off_there_comes_again(void) {
    struct result r;
    int64_t fetched = 0;
    CU_ASSERT_FALSE(fetch("breaks", LARGE_SIZE, &r, &fetched));
    CU_ASSERT_STRING_EQUAL(r.failure.text, "");
    CU_ASSERT_TRUE(large_is_whole(root, "breaks"));
    CU_ASSERT_EQUAL(fetched, LARGE_SIZE);
    CU_ASSERT_EQUAL(large_count(LARGE_PARTS), 6);
}

/* One answer never brings all of a piece, but each one more of it. */
static void a_piece_that_gets_on_is_not_given_up(void) {
    struct result r;
    int64_t fetched = 0;
    tries = 2;
    CU_ASSERT_FALSE(fetch("limps", LARGE_SIZE, &r, &fetched));
    tries = 0;
    CU_ASSERT_STRING_EQUAL(r.failure.text, "");
    CU_ASSERT_TRUE(large_is_whole(root, "limps"));
    CU_ASSERT_EQUAL(large_count(LARGE_PARTS), 13);
    CU_ASSERT_EQUAL(unlinkat(root, "limps", 0), 0);
}

/* What it brings each time is no progress: it was here before. */
static void a_piece_that_breaks_off_each_time_is_given_up(void) {
    struct result r;
    int64_t fetched = 0;
    tries = 2;
    CU_ASSERT_FALSE(fetch("breaks-ever", LARGE_SIZE, &r, &fetched));
    tries = 0;
    ASSERT_CONTAINS(r.failure.text, "tried 2 times");
    CU_ASSERT_EQUAL(faccessat(root, "breaks-ever", F_OK, 0), -1);
    part_file_forget(root, "breaks-ever");
}

/* The first start gets three pieces of five: the others end in their middle, each time. */
static void the_next_start_asks_for_what_is_missing(void) {
    struct result r;
    int64_t fetched = 0;
    CU_ASSERT_FALSE(fetch("ends", LARGE_SIZE, &r, &fetched));
    CU_ASSERT_TRUE(r.failure.code != 0);
    CU_ASSERT_EQUAL(faccessat(root, "ends", F_OK, 0), -1);
    unsigned had = large_count(LARGE_MIB);
    CU_ASSERT_EQUAL(had, 32);
    /* The same object, which now comes. */
    char temp[64] = "";
    struct part_file f;
    CU_ASSERT_EQUAL_FATAL(part_file_open(&f, root, "ends", LARGE_SIZE, large_md5, NULL), 0);
    CU_ASSERT_EQUAL(f.here[0] + f.here[1] + f.here[2] + f.here[3] + f.here[4], 2);
    (void)memcpy(temp, f.temp, sizeof(temp));
    struct part_file other;
    CU_ASSERT_EQUAL_FATAL(part_file_open(&other, root, "whole", LARGE_SIZE, large_md5, NULL), 0);
    CU_ASSERT_EQUAL(renameat(root, temp, root, other.temp), 0);
    part_file_close(&other);
    part_file_close(&f);
    CU_ASSERT_FALSE(fetch("whole", LARGE_SIZE, &r, &fetched));
    CU_ASSERT_STRING_EQUAL(r.failure.text, "");
    CU_ASSERT_EQUAL(large_count(LARGE_PARTS), 3);
    CU_ASSERT_EQUAL(large_count(LARGE_MIB), 66 - had);
    CU_ASSERT_EQUAL(turns, 4 * 4 + 1);
    CU_ASSERT_EQUAL(fetched, LARGE_SIZE);
    CU_ASSERT_TRUE(large_is_whole(root, "whole"));
}

static void all(void) {
    large_open();
    root = safe_dir_open(unit_temp_dir(), NULL);
    pieces_come_once_each_and_make_the_file();
    pieces_of_two_versions_never_mix();
    what_cannot_come_in_pieces_is_left_to_one_stream();
    a_piece_that_breaks_off_there_comes_again();
    a_piece_that_gets_on_is_not_given_up();
    a_piece_that_breaks_off_each_time_is_given_up();
    the_next_start_asks_for_what_is_missing();
    http_server_stop(&large_server);
}

UNIT_SUITE("transfer.ranges", UNIT(all))
