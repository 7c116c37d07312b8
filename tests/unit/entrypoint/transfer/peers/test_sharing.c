#include "entrypoint/transfer/peers/sharing.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/fetch/prefix.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"
#include "tests/unit/entrypoint/transfer/peer_listener.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY                                                                                        \
    "000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f"                             \
    "000102030405060708090a0b0c0d0e0f"

static struct http_server server;
static char said[4096];

static void say(const char *line) {
    size_t at = strlen(said);
    (void)snprintf(said + at, sizeof(said) - at, "%s\n", line);
}

/* The source: s3://bucket/set with a, b and c. Their ETags tell no digest, or a's is another one by
 * now, or they are MD5s, or look so. Objects are counted. */
enum { OPAQUE, NEWER, MD5S, KMS };

static void answer(struct http_call *call) {
    static const char *const etags[] = {"one-9", "one-9", "8d777f385d3dfec8815d20f7496026dc",
                                        "00000000000000000000000000000000"};
    unsigned mode = atomic_load(&call->shared->counters[1]);
    const char *first = mode == NEWER ? "two-9" : etags[mode];
    char text[1024];
    if (strstr(call->target, "list-type=2") != NULL) {
        (void)snprintf(text, sizeof(text),
                       "<ListBucketResult>"
                       "<Contents><Key>set/a</Key><Size>4</Size><ETag>\"%s\"</ETag></Contents>"
                       "<Contents><Key>set/b</Key><Size>4</Size><ETag>\"%s\"</ETag></Contents>"
                       "<Contents><Key>set/c</Key><Size>4</Size><ETag>\"%s\"</ETag></Contents>"
                       "<IsTruncated>false</IsTruncated></ListBucketResult>",
                       first, etags[mode], etags[mode]);
        http_reply_text(call, 200, text);
        return;
    }
    if (strcmp(call->method, "GET") == 0)
        (void)atomic_fetch_add(&call->shared->counters[0], 1);
    (void)snprintf(text, sizeof(text), "ETag: \"%s\"\r\n%s",
                   strstr(call->target, "/a") != NULL ? first : etags[mode],
                   mode == KMS ? "x-amz-server-side-encryption: aws:kms\r\n" : "");
    http_reply(call, 200, text, "data", 4);
}

static void behave(unsigned mode) {
    atomic_store(&server.shared->counters[1], mode);
}

static unsigned asked(void) {
    return atomic_exchange(&server.shared->counters[0], 0);
}

/* FROM is NULL on the first host. */
static void open_host(struct sharing *p, char url[PEER_URL_SIZE], const char *from) {
    cleanup_json json_t *sharing =
        json_pack("{s:i, s:s}", "listener", peer_listener(url), "key", KEY);
    struct error err = {0};
    if (from != NULL) {
        (void)json_object_set_new(sharing, "from", json_string(from));
        (void)json_object_set_new(sharing, "name", json_string("algo-1"));
        (void)json_object_set_new(sharing, "patience", json_integer(2));
    }
    CU_ASSERT_EQUAL_FATAL(sharing_open(p, sharing, &err), 0);
    if (from != NULL) {
        p->peer.url = from;
        p->peer.name = "algo-1";
    }
}

/* "": none. */
static const char *expected = "";

static int load(struct sharing *p, const char *folder, const char *from, const char *name) {
    char endpoint[64];
    char path[4096];
    cleanup_argv struct argv environment = {0};
    struct address address;
    struct error err = {0};
    struct s3 s3;
    said[0] = '\0';
    (void)snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", server.port);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_ENDPOINT_URL_S3", endpoint, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_ACCESS_KEY_ID", "AKID", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_SECRET_ACCESS_KEY", "hush-hush", NULL), 0);
    CU_ASSERT_EQUAL(s3_open(&s3, &environment, NULL), 0);
    CU_ASSERT_EQUAL(address_parse(from, &address, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), folder);
    cleanup_fd int root = safe_dir_open(path, NULL);
    const struct prefix_download_order order = {.s3 = &s3,
                                                .from = &address,
                                                .root = root,
                                                .name = name,
                                                .what = "set",
                                                .task = "set",
                                                .shards = 1,
                                                .deadline = clock_now() + 60 * CLOCK_SECOND,
                                                .passing = p,
                                                .say = say};
    int result = prefix_download(&order, &err);
    CU_ASSERT_EQUAL(err.text[0] == '\0', expected[0] == '\0');
    ASSERT_CONTAINS(err.text, expected);
    address_done(&address);
    s3_close(&s3);
    return result;
}

static bool has(const char *folder, const char *name) {
    char path[4096];
    cleanup_buf struct buf text;
    buf_init(&text, 16);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", unit_temp_dir(), folder, name);
    return file_read(path, &text, NULL) == 0 && strcmp(buf_text(&text), "data") == 0;
}

static bool has_set(const char *folder) {
    return has(folder, "a") && has(folder, "b") && has(folder, "c");
}

/* The first host, the second, which asks it, and the fourth, which asks the second. */
static void the_source_is_asked_once(void) {
    static struct sharing hosts[3];
    char urls[3][PEER_URL_SIZE];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    open_host(&hosts[2], urls[2], urls[1]);
    CU_ASSERT_EQUAL(load(&hosts[0], "first", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(asked(), 3);
    CU_ASSERT_EQUAL(load(&hosts[1], "second", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(load(&hosts[2], "fourth", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(asked(), 0);
    CU_ASSERT_TRUE(has_set("first") && has_set("second") && has_set("fourth"));
    CU_ASSERT_STRING_EQUAL(said, "set: 0.0 of 0.0 MiB, 3 of 3 files\n");
    for (size_t i = 0; i < 3; i++)
        sharing_close(&hosts[i]);
}

static void a_single_file_under_another_name_goes_on_when_its_name_is_gone(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    char path[4096];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    CU_ASSERT_EQUAL(load(&hosts[0], "code", "s3://bucket/set/a", "archive"), 0);
    CU_ASSERT_TRUE(has("code", "archive"));
    (void)snprintf(path, sizeof(path), "%s/code/archive", unit_temp_dir());
    CU_ASSERT_EQUAL(unlink(path), 0);
    (void)asked();
    CU_ASSERT_EQUAL(load(&hosts[1], "code2", "s3://bucket/set/a", "archive"), 0);
    CU_ASSERT_EQUAL(asked(), 0);
    CU_ASSERT_TRUE(has("code2", "archive"));
    sharing_close(&hosts[1]);
    sharing_close(&hosts[0]);
}

static void a_file_by_its_url_goes_on_too(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    char from[64];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    (void)snprintf(from, sizeof(from), "http://127.0.0.1:%u/one?secret", server.port);
    CU_ASSERT_EQUAL(load(&hosts[0], "url", from, NULL), 0);
    CU_ASSERT_EQUAL(asked(), 1);
    CU_ASSERT_EQUAL(load(&hosts[1], "url2", from, NULL), 0);
    CU_ASSERT_EQUAL(asked(), 0);
    CU_ASSERT_TRUE(has("url", "one") && has("url2", "one"));
    sharing_close(&hosts[1]);
    sharing_close(&hosts[0]);
}

/* What was here before has no digest of ours yet. */
static void what_was_here_before_goes_on_too(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    char path[4096];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    (void)snprintf(path, sizeof(path), "%s/second/a", unit_temp_dir());
    CU_ASSERT_EQUAL(load(&hosts[0], "first", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(unlink(path), 0);
    (void)asked();
    CU_ASSERT_EQUAL(load(&hosts[1], "second", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(asked(), 0);
    CU_ASSERT_TRUE(has_set("second"));
    sharing_close(&hosts[1]);
    sharing_close(&hosts[0]);
}

static void what_another_host_does_not_have_comes_from_the_source(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    catalog_end_all(&hosts[0].catalog);
    CU_ASSERT_EQUAL(load(&hosts[1], "alone", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(asked(), 3);
    CU_ASSERT_TRUE(has_set("alone"));
    CU_ASSERT_FALSE(hosts[1].peer.lost);
    CU_ASSERT_STRING_EQUAL(said, "set: 0.0 of 0.0 MiB, 3 of 3 files\n");
    sharing_close(&hosts[1]);
    sharing_close(&hosts[0]);
}

static void what_is_newer_at_the_source_loses_nothing_else(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    CU_ASSERT_EQUAL(load(&hosts[0], "older", "s3://bucket/set", NULL), 0);
    behave(NEWER);
    (void)asked();
    CU_ASSERT_EQUAL(load(&hosts[1], "newer", "s3://bucket/set", NULL), 0);
    behave(OPAQUE);
    CU_ASSERT_EQUAL(asked(), 1);
    CU_ASSERT_TRUE(has_set("newer"));
    CU_ASSERT_FALSE(hosts[1].peer.lost);
    CU_ASSERT_STRING_EQUAL(said, "set: 0.0 of 0.0 MiB, 3 of 3 files\n");
    sharing_close(&hosts[1]);
    sharing_close(&hosts[0]);
}

static void a_fault_of_our_own_is_not_the_other_hosts(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    char path[4096];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    CU_ASSERT_EQUAL(load(&hosts[0], "good", "s3://bucket/set", NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/bad/a/in/the/way", unit_temp_dir());
    CU_ASSERT_EQUAL(file_make_dirs(path, NULL), 0);
    expected = "\"a\": Is a directory";
    CU_ASSERT_EQUAL(load(&hosts[1], "bad", "s3://bucket/set", NULL), -1);
    expected = "";
    CU_ASSERT_FALSE(hosts[1].peer.lost);
    CU_ASSERT_STRING_EQUAL(said, "");
    sharing_close(&hosts[1]);
    sharing_close(&hosts[0]);
}

/* Though the SHA-256 that it tells is theirs. */
static void bytes_without_the_listings_md5_come_from_the_source(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    char path[4096];
    unsigned char sha[DIGEST_SHA256];
    struct catalog_facts facts = {.size = 4, .etag = "8d777f385d3dfec8815d20f7496026dc"};
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    (void)snprintf(path, sizeof(path), "%s/evil", unit_temp_dir());
    cleanup_fd int root = safe_dir_open(path, NULL);
    (void)snprintf(path, sizeof(path), "%s/evil/a", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(path, "evil", 4, 0644, NULL), 0);
    CU_ASSERT_EQUAL(digest_sha256("evil", 4, sha, NULL), 0);
    digest_hex(sha, sizeof(sha), facts.sha256);
    struct catalog_task *t = catalog_begin(&hosts[0].catalog, "set", root, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_EQUAL(catalog_expect(&hosts[0].catalog, t, "a", NULL), 0);
    catalog_listed(&hosts[0].catalog, t);
    catalog_put(&hosts[0].catalog, t, "a", &facts, false);
    behave(MD5S);
    (void)asked();
    CU_ASSERT_EQUAL(load(&hosts[1], "honest", "s3://bucket/set", NULL), 0);
    behave(OPAQUE);
    CU_ASSERT_EQUAL(asked(), 3);
    CU_ASSERT_TRUE(has_set("honest"));
    CU_ASSERT_FALSE(hosts[1].peer.lost || hosts[1].no_md5);
    sharing_close(&hosts[1]);
    sharing_close(&hosts[0]);
}

static void an_etag_that_only_looks_like_an_md5_is_found_out_by_the_source(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    behave(KMS);
    CU_ASSERT_EQUAL(load(&hosts[0], "kms", "s3://bucket/set", NULL), 0);
    (void)asked();
    CU_ASSERT_EQUAL(load(&hosts[1], "kms2", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(asked(), 3);
    CU_ASSERT_TRUE(hosts[1].no_md5 && !hosts[1].peer.lost);
    CU_ASSERT_EQUAL(load(&hosts[1], "kms3", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(asked(), 0);
    CU_ASSERT_TRUE(has_set("kms2") && has_set("kms3"));
    behave(OPAQUE);
    sharing_close(&hosts[1]);
    sharing_close(&hosts[0]);
}

static void a_host_that_does_not_come_is_told_of_and_done_without(void) {
    static struct sharing host;
    char url[PEER_URL_SIZE];
    char nobody[PEER_URL_SIZE];
    (void)close(peer_listener(nobody));
    open_host(&host, url, nobody);
    CU_ASSERT_EQUAL(load(&host, "unmet", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(asked(), 3);
    CU_ASSERT_TRUE(has_set("unmet"));
    ASSERT_CONTAINS(said, "warning: algo-1 passes nothing on (https://127.0.0.1:");
    sharing_close(&host);
}

/* It is there when it is met, and gone when the files are asked for. */
static void a_host_that_is_lost_midway_is_told_of_once_and_done_without(void) {
    static struct sharing hosts[2];
    char urls[2][PEER_URL_SIZE];
    open_host(&hosts[0], urls[0], NULL);
    open_host(&hosts[1], urls[1], urls[0]);
    CU_ASSERT_TRUE(sharing_has_peer(&hosts[1], say));
    sharing_close(&hosts[0]);
    (void)asked();
    CU_ASSERT_EQUAL(load(&hosts[1], "lost", "s3://bucket/set", NULL), 0);
    CU_ASSERT_EQUAL(asked(), 3);
    CU_ASSERT_TRUE(has_set("lost") && hosts[1].peer.lost);
    const char *first = strstr(said, "warning: algo-1 passes nothing on");
    CU_ASSERT_PTR_NOT_NULL_FATAL(first);
    CU_ASSERT_PTR_NULL(strstr(first + 1, "warning"));
    sharing_close(&hosts[1]);
}

static void a_door_that_lacks_something_is_refused(void) {
    static const char *const invalid[] = {
        "{}",
        "{\"listener\": 9}",
        "{\"listener\": 9, \"key\": \"00\"}",
        "{\"listener\": 9, \"key\": \"" KEY "00\"}",
        "{\"listener\": 2, \"key\": \"" KEY "\"}",
        "{\"listener\": 9, \"key\": \"" KEY "\", \"from\": \"https://x:1\"}",
        "{\"listener\": 9, \"key\": \"" KEY "\", \"patience\": 0}",
    };
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
        static struct sharing p;
        struct error err = {0};
        cleanup_json json_t *sharing = json_loads(invalid[i], 0, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sharing);
        CU_ASSERT_EQUAL(sharing_open(&p, sharing, &err), -1);
        ASSERT_CONTAINS(err.text, "the order's sharing");
    }
}

static void all(void) {
    http_server_start(&server, answer);
    the_source_is_asked_once();
    a_single_file_under_another_name_goes_on_when_its_name_is_gone();
    a_file_by_its_url_goes_on_too();
    what_was_here_before_goes_on_too();
    what_another_host_does_not_have_comes_from_the_source();
    what_is_newer_at_the_source_loses_nothing_else();
    a_fault_of_our_own_is_not_the_other_hosts();
    bytes_without_the_listings_md5_come_from_the_source();
    an_etag_that_only_looks_like_an_md5_is_found_out_by_the_source();
    a_host_that_does_not_come_is_told_of_and_done_without();
    a_host_that_is_lost_midway_is_told_of_once_and_done_without();
    a_door_that_lacks_something_is_refused();
    http_server_stop(&server);
}

UNIT_SUITE("transfer.sharing", UNIT(all))
