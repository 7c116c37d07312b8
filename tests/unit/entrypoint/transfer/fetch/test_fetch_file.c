#include "entrypoint/transfer/fetch/fetch_file.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "tests/unit/entrypoint/transfer/large_stage.h"

static int root = -1;
static struct fetch_file bring;

static void ended(void *context, const struct error *failure) {
    struct error *ret = context;
    ret->os_errno++;
    if (failure != NULL)
        (void)error_set(ret, failure->code, "%s", failure->text);
}

static bool more(void *context) {
    return fetch_file_more(context);
}

static bool aside(void *context) {
    return fetch_file_verify(context);
}

/* Fetches KEY from its URL; the ways that are left are tried one after another. */
static void fetch(const char *key, const char *etag, int64_t size, struct error *ret) {
    struct exchange_pool pool;
    char url[128];
    int64_t fetched = 0;
    *ret = (struct error){0};
    large_forget();
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s", large_server.port, key);
    CU_ASSERT_EQUAL(exchange_pool_open(&pool, NULL, NULL), 0);
    pool.more = more;
    pool.aside = aside;
    pool.context = &bring;
    const struct fetch_file_order order = {.source = {.url = url,
                                                      .name = key,
                                                      .root = root,
                                                      .path = key,
                                                      .size = size,
                                                      .etag = etag,
                                                      .fetched = &fetched},
                                           .ended = ended,
                                           .context = ret};
    fetch_file_start(&bring, &order, &pool);
    CU_ASSERT_EQUAL(exchange_pool_run(&pool, clock_now() + 60 * CLOCK_SECOND, NULL), 0);
    exchange_pool_close(&pool);
    CU_ASSERT_TRUE(fetched == LARGE_SIZE || ret->text[0] != '\0');
}

static void a_large_file_comes_in_pieces_else_in_one_stream(void) {
    static const struct {
        const char *key;
        unsigned wholes;
    } cases[] = {{"whole", 0},   {"weak", 1},  {"headless", 1}, {"nameless", 1},
                 {"changes", 1}, {"mixes", 1}, {"beyond", 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err;
        fetch(cases[i].key, NULL, -1, &err);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_TRUE(large_is_whole(root, cases[i].key));
        CU_ASSERT_EQUAL(large_count(LARGE_WHOLES), cases[i].wholes);
        CU_ASSERT_EQUAL(bring.facts.size, LARGE_SIZE);
        CU_ASSERT_EQUAL(strlen(bring.facts.sha256), 64);
        CU_ASSERT_EQUAL(unlinkat(root, cases[i].key, 0), 0);
        CU_ASSERT_TRUE(safe_dir_is_empty(root, "nothing"));
    }
}

/* An earlier start, which fetched in pieces, left a part file behind. */
static void what_was_left_goes_where_it_comes_in_one_stream(void) {
    struct part_file left;
    struct error err;
    CU_ASSERT_EQUAL_FATAL(part_file_open(&left, root, "weak", LARGE_SIZE, "old", NULL), 0);
    part_file_close(&left);
    CU_ASSERT_FALSE(safe_dir_is_empty(root, "nothing"));
    fetch("weak", NULL, -1, &err);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_EQUAL(unlinkat(root, "weak", 0), 0);
    CU_ASSERT_TRUE(safe_dir_is_empty(root, "nothing"));
}

static void all(void) {
    large_open();
    root = safe_dir_open(unit_temp_dir(), NULL);
    a_large_file_comes_in_pieces_else_in_one_stream();
    what_was_left_goes_where_it_comes_in_one_stream();
    http_server_stop(&large_server);
}

UNIT_SUITE("transfer.fetch_file", UNIT(all))
