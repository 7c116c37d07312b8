#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/transfer/fetch/stream.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTENT "0123456789abcdefghij"
static const size_t size = sizeof(CONTENT) - 1;
static char md5[DIGEST_HEX_MAX];
static struct http_server server;

static void part(struct http_call *call, const char *etag) {
    char headers[512];
    size_t from = 0;
    const char *range = http_header(call, "range");
    if (strncmp(range, "bytes=", 6) == 0)
        from = (size_t)strtoull(range + 6, NULL, 10);
    (void)snprintf(headers, sizeof(headers), "ETag: \"%s\"\r\nContent-Range: bytes %zu-%zu/%zu\r\n",
                   etag, from, size - 1, size);
    http_reply(call, from > 0 ? 206 : 200, headers, &CONTENT[from], size - from);
}

/* The file has ten MiB, of which most responses send two. */
enum { LONG_PART = 2 * 1024 * 1024, LONG_SIZE = 10 * 1024 * 1024 };

static void long_part(struct http_call *call, const char *headers, bool ranges, size_t gives) {
    static const char zeros[LONG_SIZE];
    char head[512];
    size_t from = 0;
    const char *range = http_header(call, "range");
    if (ranges && strncmp(range, "bytes=", 6) == 0)
        from = (size_t)strtoull(range + 6, NULL, 10);
    int length =
        snprintf(head, sizeof(head),
                 "HTTP/1.1 %d Said\r\n%sContent-Range: bytes %zu-%d/%d\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 from > 0 ? 206 : 200, headers, from, LONG_SIZE - 1, LONG_SIZE, LONG_SIZE - from);
    http_write(call, head, (size_t)length);
    http_write(call, zeros, gives);
}

/* Sends a chunk of two MiB, without a total size and without the chunk that ends the response. */
static void long_chunk(struct http_call *call) {
    static const char zeros[LONG_PART];
    char head[128];
    if (http_header(call, "range")[0] != '\0') {
        http_reply_text(call, 416, "");
        return;
    }
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 200 OK\r\nETag: \"x-1\"\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n%x\r\n",
                          LONG_PART);
    http_write(call, head, (size_t)length);
    http_write(call, zeros, LONG_PART);
    http_write(call, "\r\n", 2);
}

/* Announces the whole file, but sends only the first TO bytes. */
static void cut(struct http_call *call, const char *etag, size_t to) {
    char head[512];
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 200 OK\r\nETag: \"%s\"\r\nContent-Length: %zu\r\n\r\n%.*s",
                          etag, size, (int)to, CONTENT);
    http_write(call, head, (size_t)length);
}

static void answer(struct http_call *call) {
    const char *key = call->target + strlen("/bucket/");
    const unsigned before = atomic_fetch_add(&call->shared->counters[0], 1);
    const bool first = before == 0;
    if (strcmp(key, "whole") == 0)
        part(call, md5);
    else if (strcmp(key, "cut") == 0 && first)
        cut(call, md5, 7);
    else if (strcmp(key, "cut") == 0)
        part(call, md5);
    else if (strcmp(key, "changes") == 0 && first)
        cut(call, "one", 7);
    else if (strcmp(key, "changes") == 0)
        http_reply_text(call, strcmp(http_header(call, "if-match"), "\"one\"") ? 500 : 412, "");
    else if (strcmp(key, "ignores") == 0 && first)
        cut(call, "", 7);
    else if (strcmp(key, "ignores") == 0)
        http_reply(call, 200, "ETag: \"x-2\"\r\n", CONTENT, size);
    else if (strcmp(key, "lies") == 0)
        part(call, "00000000000000000000000000000000");
    else if (strcmp(key, "kms") == 0)
        http_reply(call, 200,
                   "ETag: \"00000000000000000000000000000000\"\r\n"
                   "x-amz-server-side-encryption: aws:kms\r\n",
                   CONTENT, size);
    else if (strcmp(key, "sha") == 0)
        http_reply(call, 200,
                   "x-amz-checksum-sha256: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n",
                   CONTENT, size);
    else if (strcmp(key, "larger") == 0)
        http_reply(call, 200, "", CONTENT CONTENT, 2 * size);
    else if (strcmp(key, "nameless") == 0)
        long_part(call, "", true, LONG_PART);
    else if (strcmp(key, "nameless-growing") == 0)
        long_part(call, "", true, before < 4 ? (before + 1) * LONG_PART : LONG_SIZE);
    else if (strcmp(key, "whole-swaying") == 0)
        long_part(call, "ETag: \"x-1\"\r\n", false, before % 2 == 0 ? LONG_PART : LONG_PART / 4);
    else if (strcmp(key, "whole-alone") == 0)
        long_part(call, "ETag: \"x-1\"\r\n", false, LONG_PART);
    else if (strcmp(key, "piecemeal") == 0)
        long_part(call, "ETag: \"x-1\"\r\n", true, LONG_PART);
    else if (strcmp(key, "endless") == 0)
        long_chunk(call);
    else if (strcmp(key, "huge") == 0)
        http_write(call, "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\nx", 57);
    else
        http_reply_text(call, 404, "<Code>NoSuchKey</Code>");
}

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

/* Fetches s3://bucket/KEY to FOLDER/KEY. */
static void fetch(const char *key, int64_t expected, struct result *ret) {
    char url[128];
    int64_t fetched = 0;
    cleanup_argv struct argv environment = {0};
    struct s3 s3;
    struct exchange_pool pool;
    struct stream f;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", server.port);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_ENDPOINT_URL_S3", url, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_ACCESS_KEY_ID", "AKID", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_SECRET_ACCESS_KEY", "hush-hush", NULL), 0);
    CU_ASSERT_EQUAL(s3_open(&s3, &environment, NULL), 0);
    cleanup_fd int root = safe_dir_open(unit_temp_dir(), NULL);
    CU_ASSERT_EQUAL(exchange_pool_open(&pool, NULL, NULL), 0);
    *ret = (struct result){0};
    atomic_store(&server.shared->counters[0], 0);
    const struct stream_order order = {.s3 = &s3,
                                       .bucket = "bucket",
                                       .key = key,
                                       .name = key,
                                       .root = root,
                                       .path = key,
                                       .size = expected,
                                       .fetched = &fetched,
                                       .ended = ended,
                                       .context = ret};
    stream_start(&f, &order, &pool);
    f.exchange.tries = 3;
    CU_ASSERT_EQUAL(exchange_pool_run(&pool, clock_now() + 60 * CLOCK_SECOND, NULL), 0);
    exchange_pool_close(&pool);
    s3_close(&s3);
    CU_ASSERT_EQUAL(ret->ended, 1);
}

/* Returns whether the file exists and is complete. */
static bool is_whole(const char *key) {
    char path[4096];
    cleanup_buf struct buf text;
    buf_init(&text, 1024);
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), key);
    return file_read(path, &text, NULL) == 0 && strcmp(buf_text(&text), CONTENT) == 0;
}

static void what_comes_whole_is_kept(void) {
    static const struct {
        const char *key;
        int64_t expected;
        unsigned requests;
    } cases[] = {
        {"whole", (int64_t)(sizeof(CONTENT) - 1), 1},
        {"cut", -1, 2},
        {"ignores", -1, 2},
        {"kms", -1, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct result got;
        fetch(cases[i].key, cases[i].expected, &got);
        CU_ASSERT_STRING_EQUAL(got.failure.text, "");
        CU_ASSERT_TRUE(is_whole(cases[i].key));
        CU_ASSERT_EQUAL(atomic_load(&server.shared->counters[0]), cases[i].requests);
    }
}

static void what_is_not_what_was_asked_for_is_not_kept(void) {
    static const struct {
        const char *key, *words;
        int64_t expected;
        unsigned requests;
    } cases[] = {
        {"lies", "lies: tried 3 times: its MD5 does not match", -1, 3},
        {"sha", "its SHA-256 does not match", -1, 3},
        {"changes", "it changed while it was being fetched", -1, 2},
        {"larger", "it has 40 bytes where 20 were expected", 20, 1},
        {"huge", "MiB are to come, and the disk has room for", -1, 1},
        {"gone", "gone: the server answers 404 NoSuchKey", -1, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct result got;
        fetch(cases[i].key, cases[i].expected, &got);
        ASSERT_CONTAINS(got.failure.text, cases[i].words);
        CU_ASSERT_FALSE(is_whole(cases[i].key));
        CU_ASSERT_EQUAL(atomic_load(&server.shared->counters[0]), cases[i].requests);
    }
}

/* A download is tried three times, and more often only if tries bring bytes that are kept. */
static void what_is_thrown_away_is_no_progress(void) {
    static const struct {
        const char *key, *words;
        unsigned most;
    } cases[] = {
        {"nameless", "nameless: tried 3 times", 3},
        {"nameless-growing", "nameless-growing: tried 3 times", 3},
        {"whole-alone", "whole-alone: tried 3 times", 4},
        {"whole-swaying", "whole-swaying: tried 3 times", 4},
        {"endless", "endless: tried 3 times", 6},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct result got;
        fetch(cases[i].key, -1, &got);
        ASSERT_CONTAINS(got.failure.text, cases[i].words);
        CU_ASSERT_TRUE(atomic_load(&server.shared->counters[0]) <= cases[i].most);
    }
    struct result got;
    fetch("piecemeal", LONG_SIZE, &got);
    CU_ASSERT_STRING_EQUAL(got.failure.text, "");
    CU_ASSERT_EQUAL(atomic_load(&server.shared->counters[0]), 5);
    cleanup_fd int root = safe_dir_open(unit_temp_dir(), NULL);
    CU_ASSERT_EQUAL(unlinkat(root, "piecemeal", 0), 0);
}

static void what_is_there_is_known_by_its_md5(void) {
    cleanup_fd int root = safe_dir_open(unit_temp_dir(), NULL);
    CU_ASSERT_TRUE(stream_is_there(root, "whole", (int64_t)size, md5, NULL));
    CU_ASSERT_FALSE(stream_is_there(root, "whole", (int64_t)size - 1, md5, NULL));
    CU_ASSERT_FALSE(
        stream_is_there(root, "whole", (int64_t)size, "00000000000000000000000000000000", NULL));
    CU_ASSERT_FALSE(stream_is_there(root, "whole", (int64_t)size, "x-2", NULL));
    CU_ASSERT_FALSE(stream_is_there(root, "absent", (int64_t)size, md5, NULL));
    /* Failed downloads leave nothing behind. */
    CU_ASSERT_EQUAL(unlinkat(root, "whole", 0) | unlinkat(root, "cut", 0) |
                        unlinkat(root, "ignores", 0) | unlinkat(root, "kms", 0),
                    0);
    CU_ASSERT_TRUE(safe_dir_is_empty(root, "nothing"));
}

static void all(void) {
    struct digest d = {0};
    CU_ASSERT_EQUAL(digest_begin(&d, DIGEST_OF_MD5, NULL), 0);
    CU_ASSERT_EQUAL(digest_add(&d, CONTENT, size, NULL), 0);
    CU_ASSERT_EQUAL(digest_end(&d, md5, NULL), 0);
    digest_done(&d);
    http_server_start(&server, answer);
    what_comes_whole_is_kept();
    what_is_not_what_was_asked_for_is_not_kept();
    what_is_thrown_away_is_no_progress();
    what_is_there_is_known_by_its_md5();
    http_server_stop(&server);
}

UNIT_SUITE("transfer.stream", UNIT(all))
