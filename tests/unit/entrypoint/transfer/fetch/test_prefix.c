#include "common/cleanup.h"
#include "common/clock.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/fetch/prefix.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct http_server server;
static char said[1024];
static unsigned marks;

static void say(const char *line) {
    (void)snprintf(said, sizeof(said), "%s", line);
}

static void mark(const char *line) {
    marks += line[0] != '\0';
}

/* A half, and after a while its end; then nothing for as long, and a refusal. */
static void falter(struct http_call *call) {
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf";
    bool first = atomic_fetch_add(&call->shared->counters[0], 1) == 0;
    if (first)
        http_write(call, half, sizeof(half) - 1);
    (void)sleep(3);
    if (!first)
        http_reply_text(call, 404, "");
}

static void list(struct http_call *call, const char *token, const char *const *keys) {
    char text[16 * 1024];
    size_t at = (size_t)snprintf(
        text, sizeof(text), "<ListBucketResult>%s%s%s<IsTruncated>%s</IsTruncated>",
        token[0] != '\0' ? "<NextContinuationToken>" : "", token,
        token[0] != '\0' ? "</NextContinuationToken>" : "", token[0] != '\0' ? "true" : "false");
    for (; *keys != NULL; keys++)
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "<Contents><Key>%s</Key><Size>%d</Size></Contents>", *keys,
                               (*keys)[strlen(*keys) - 1] == '/' ? 0 : 4);
    (void)snprintf(text + at, sizeof(text) - at, "</ListBucketResult>");
    http_reply_text(call, 200, text);
}

/* A bucket's name says how it behaves; every object is the text "data". */
static void answer(struct http_call *call) {
    static const char *const first[] = {"set/a", "set/b", "set/", NULL};
    static const char *const second[] = {"set/sub/c", "settle", "set/d", NULL};
    static const char *const single[] = {"one", "one/more", "ones", NULL};
    static const char *const hostile[] = {"set/../../out", NULL};
    static const char *const none[] = {NULL};
    bool listing = strstr(call->target, "list-type=2") != NULL;
    bool next = strstr(call->target, "continuation-token=") != NULL;
    bool get = strcmp(call->method, "GET") == 0;
    if (get && strcmp(call->target, "/falters") == 0)
        falter(call);
    else if (!listing && strstr(call->target, "/missing/") != NULL)
        http_reply_text(call, 404, "");
    else if (!listing)
        http_reply(call, 200, "", "data", 4);
    else if (strncmp(call->target, "/two-pages?", 11) == 0 ||
             strncmp(call->target, "/missing?", 9) == 0)
        list(call, next ? "" : "more", next ? second : first);
    else if (strncmp(call->target, "/single?", 8) == 0)
        list(call, "", single);
    else if (strncmp(call->target, "/hostile?", 9) == 0)
        list(call, "", hostile);
    else if (strncmp(call->target, "/circle?", 8) == 0)
        list(call, "again", first);
    else
        list(call, "", none);
}

struct given {
    const char *from;
    const char *folder;
    const char *name;
    size_t shard, shards;
};

static int load(const struct given *g, struct error *err) {
    char url[128];
    char path[4096];
    cleanup_argv struct argv environment = {0};
    struct address from;
    struct s3 s3;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", server.port);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_ENDPOINT_URL_S3", url, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_ACCESS_KEY_ID", "AKID", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_SECRET_ACCESS_KEY", "hush-hush", NULL), 0);
    CU_ASSERT_EQUAL(s3_open(&s3, &environment, NULL), 0);
    CU_ASSERT_EQUAL(address_parse(g->from, &from, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), g->folder);
    cleanup_fd int root = safe_dir_open(path, NULL);
    const struct prefix_download_order order = {.s3 = &s3,
                                                .from = &from,
                                                .root = root,
                                                .name = g->name,
                                                .what = "set",
                                                .shard = g->shard,
                                                .shards = g->shards,
                                                .deadline = clock_now() + 60 * CLOCK_SECOND,
                                                .say = say,
                                                .mark = mark};
    int result = prefix_download(&order, err);
    address_done(&from);
    s3_close(&s3);
    return result;
}

static bool is_there(const char *path) {
    char whole[4096];
    (void)snprintf(whole, sizeof(whole), "%s/%s", unit_temp_dir(), path);
    return access(whole, F_OK) == 0;
}

static void a_folder_comes_with_all_its_pages(void) {
    static const struct given given = {.from = "s3://two-pages/set", .folder = "all", .shards = 1};
    CU_ASSERT_EQUAL(load(&given, NULL), 0);
    CU_ASSERT_TRUE(is_there("all/a") && is_there("all/b") && is_there("all/d"));
    CU_ASSERT_TRUE(is_there("all/sub/c"));
    CU_ASSERT_FALSE(is_there("all/tle") || is_there("all/ettle") || is_there("all/settle"));
    CU_ASSERT_STRING_EQUAL(said, "set: 0.0 of 0.0 MiB, 4 of 4 files");
}

static void shards_part_a_folder_between_them(void) {
    static const char *const files[] = {"a", "b", "d", "sub/c"};
    for (size_t shard = 0; shard < 3; shard++) {
        char folder[16];
        (void)snprintf(folder, sizeof(folder), "shard%zu", shard);
        const struct given given = {
            .from = "s3://two-pages/set/", .folder = folder, .shard = shard, .shards = 3};
        CU_ASSERT_EQUAL(load(&given, NULL), 0);
        for (size_t i = 0; i < 4; i++) {
            char path[64];
            (void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
            CU_ASSERT_EQUAL(is_there(path), i % 3 == shard);
        }
    }
}

static void an_object_of_that_very_name_is_it_alone(void) {
    static const struct given as_named = {.from = "s3://single/one", .folder = "x", .shards = 2};
    static const struct given renamed = {
        .from = "s3://single/one", .folder = "y", .name = "other", .shards = 1};
    CU_ASSERT_EQUAL(load(&as_named, NULL), 0);
    CU_ASSERT_TRUE(is_there("x/one"));
    CU_ASSERT_FALSE(is_there("x/ones") || is_there("x/more"));
    CU_ASSERT_EQUAL(load(&renamed, NULL), 0);
    CU_ASSERT_TRUE(is_there("y/other"));
}

static void a_file_comes_by_its_url(void) {
    char url[128];
    struct given given = {.from = url, .folder = "url", .shards = 1};
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/deep/data.tar?secret=1", server.port);
    CU_ASSERT_EQUAL(load(&given, NULL), 0);
    CU_ASSERT_TRUE(is_there("url/data.tar"));
    CU_ASSERT_STRING_EQUAL(said, "set: 0.0 MiB");
}

/* Hosts that wait for this one are told of bytes that arrive, but not of those that are thrown
 * away. */
static void what_is_thrown_away_is_no_step_forward(void) {
    char url[128];
    struct error err = {0};
    struct given given = {.from = url, .folder = "bad/in", .shards = 1};
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/falters", server.port);
    marks = 0;
    CU_ASSERT_EQUAL(load(&given, &err), -1);
    ASSERT_CONTAINS(err.text, "the server answers 404");
    CU_ASSERT_EQUAL(marks, 1);
}

static void what_cannot_be_had_is_an_error(void) {
    static const struct {
        const char *from, *words;
    } cases[] = {
        {"s3://empty-one/set", "s3://empty-one/set: there is no such object, and no folder"},
        {"s3://hostile/set", "\"../../out\" is no path"},
        {"s3://circle/set", "repeats a page"},
        {"s3://missing/set", "the server answers 404"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        const struct given given = {.from = cases[i].from, .folder = "bad/in", .shards = 1};
        CU_ASSERT_EQUAL(load(&given, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
    CU_ASSERT_FALSE(is_there("out") || is_there("bad/out"));
}

static void all(void) {
    http_server_start(&server, answer);
    a_folder_comes_with_all_its_pages();
    shards_part_a_folder_between_them();
    an_object_of_that_very_name_is_it_alone();
    a_file_comes_by_its_url();
    what_is_thrown_away_is_no_step_forward();
    what_cannot_be_had_is_an_error();
    http_server_stop(&server);
}

UNIT_SUITE("transfer.prefix", UNIT(all))
