#include "entrypoint/transfer/peers/peer_server.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/transfer/fetch/stream.h"
#include "entrypoint/transfer/peers/peer_client.h"
#include "tests/support/unit.h"
#include "tests/unit/entrypoint/transfer/peer_listener.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 3 * 1024 * 1024 + 17 };

static char url[PEER_URL_SIZE];
static struct peer_client peer = {.name = "algo-1", .url = url, .patience = 20};
static struct catalog catalog;
static struct peer_server peer_server;
static int here = -1;  /* the folder of the files that are served */
static int there = -1; /* the folder where they arrive */

static void open_all(void) {
    char path[4096];
    memset(peer.key, 7, sizeof(peer.key));
    (void)snprintf(path, sizeof(path), "%s/here", unit_temp_dir());
    here = safe_dir_open(path, NULL);
    (void)snprintf(path, sizeof(path), "%s/there", unit_temp_dir());
    there = safe_dir_open(path, NULL);
    CU_ASSERT_EQUAL_FATAL(catalog_open(&catalog, NULL), 0);
    int listener = peer_listener(url);
    CU_ASSERT_EQUAL_FATAL(peer_server_open(&peer_server, listener, peer.key, &catalog, NULL), 0);
}

static void make(const char *name, char **ret, struct catalog_facts *facts) {
    static char content[LARGE];
    char hex[DIGEST_HEX_MAX];
    unsigned char raw[DIGEST_SHA256];
    for (size_t i = 0; i < LARGE; i++)
        content[i] = (char)(i * 2654435761u >> 16);
    cleanup_fd int fd = openat(here, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CU_ASSERT_EQUAL(file_write_all(fd, content, LARGE, NULL), 0);
    CU_ASSERT_EQUAL(digest_sha256(content, LARGE, raw, NULL), 0);
    digest_hex(raw, sizeof(raw), hex);
    *facts = (struct catalog_facts){.size = LARGE, .etag = "tag-3"};
    (void)snprintf(facts->sha256, sizeof(facts->sha256), "%s", hex);
    *ret = content;
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

static void fetch(const char *path, const char *etag, struct result *ret) {
    struct exchange_pool pool;
    struct stream f;
    int64_t fetched = 0;
    *ret = (struct result){0};
    CU_ASSERT_EQUAL(exchange_pool_open(&pool, NULL, NULL), 0);
    const struct stream_order order = {.peer = &peer,
                                       .task = "set",
                                       .name = path,
                                       .root = there,
                                       .path = path,
                                       .size = -1,
                                       .etag = etag,
                                       .fetched = &fetched,
                                       .ended = ended,
                                       .context = ret};
    stream_start(&f, &order, &pool);
    CU_ASSERT_EQUAL(exchange_pool_run(&pool, clock_now() + 60 * CLOCK_SECOND, NULL), 0);
    exchange_pool_close(&pool);
    CU_ASSERT_EQUAL(ret->ended, 1);
}

static bool is_whole(const char *name, const char *content) {
    static char text[LARGE + 1];
    cleanup_fd int fd = openat(there, name, O_RDONLY | O_CLOEXEC);
    size_t at = 0;
    for (ssize_t got = 1; fd >= 0 && got > 0 && at < sizeof(text); at += (size_t)got)
        got = read(fd, text + at, sizeof(text) - at);
    return at == LARGE && memcmp(text, content, LARGE) == 0;
}

static struct catalog_task *task;

static void a_file_that_is_here_arrives_whole(void) {
    struct catalog_facts facts;
    struct result r;
    char *content = NULL;
    open_all();
    task = catalog_begin(&catalog, "set", here, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(task);
    static const char *const paths[] = {"a b", "broken", "later", "lost"};
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(catalog_expect(&catalog, task, paths[i], NULL), 0);
    catalog_listed(&catalog, task);
    make("a b", &content, &facts);
    catalog_put(&catalog, task, "a b", &facts, false);
    fetch("a b", "tag-3", &r);
    CU_ASSERT_STRING_EQUAL(r.failure.text, "");
    CU_ASSERT_TRUE(is_whole("a b", content));
    fetch("a b", "tag-4", &r);
    ASSERT_CONTAINS(r.failure.text, "it changed while it was being fetched");
    /* Its bytes are not those that were verified. */
    make("broken", &content, &facts);
    facts.sha256[0] = facts.sha256[0] == '0' ? '1' : '0';
    catalog_put(&catalog, task, "broken", &facts, false);
    fetch("broken", "tag-3", &r);
    ASSERT_CONTAINS(r.failure.text, "its SHA-256 does not match the server's");
    CU_ASSERT_FALSE(is_whole("broken", content));
    fetch("unknown", NULL, &r);
    ASSERT_CONTAINS(r.failure.text, "algo-1 does not have it");
}

/* This is longer than one request waits: "not yet" is no failure, however often it is the
 * answer. */
enum { LATER_SECONDS = 12 };

static void *put_later(void *context) {
    struct catalog_facts facts;
    char *content = NULL;
    (void)context;
    make("later", &content, &facts);
    for (int i = 0; i < LATER_SECONDS; i++) {
        (void)sleep(1);
        catalog_step(&catalog);
    }
    catalog_put(&catalog, task, "later", &facts, false);
    return content;
}

static void whoever_comes_early_waits_and_hears_how_far_it_is(void) {
    struct result r;
    pthread_t other;
    void *content = NULL;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, put_later, NULL), 0);
    int64_t begun = clock_now();
    fetch("later", "tag-3", &r);
    CU_ASSERT_TRUE(clock_now() - begun >= (LATER_SECONDS - 1) * CLOCK_SECOND);
    (void)pthread_join(other, &content);
    CU_ASSERT_STRING_EQUAL(r.failure.text, "");
    CU_ASSERT_TRUE(is_whole("later", content));
    CU_ASSERT_TRUE(peer.moves >= 2 && peer.steps >= 4);
}

static void another_key_gets_nothing(void) {
    struct result r;
    peer.key[0] ^= 1;
    fetch("a b", "tag-3", &r);
    ASSERT_CONTAINS(r.failure.text, "tried 3 times");
    peer.key[0] ^= 1;
    fetch("a b", "tag-3", &r);
    CU_ASSERT_STRING_EQUAL(r.failure.text, "");
}

static atomic_bool served;

/* Takes all places with connections that now and then send one byte of a TLS handshake that never
 * ends. */
static void *knock_on(void *context) {
    static const unsigned char record[] = {22, 3, 1, 2, 0};
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port =
                                       htons((uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10))};
    int strangers[PEER_SERVER_CLIENTS];
    (void)context;
    for (size_t i = 0; i < PEER_SERVER_CLIENTS; i++) {
        strangers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CU_ASSERT_EQUAL(connect(strangers[i], (const struct sockaddr *)&at, sizeof(at)), 0);
        (void)send(strangers[i], record, sizeof(record), MSG_NOSIGNAL);
    }
    atomic_store(&served, false);
    for (int second = 0; second < 60 && !atomic_load(&served); second++) {
        for (size_t i = 0; i < PEER_SERVER_CLIENTS; i++)
            (void)send(strangers[i], "", 1, MSG_NOSIGNAL);
        (void)poll(NULL, 0, 1000);
    }
    for (size_t i = 0; i < PEER_SERVER_CLIENTS; i++)
        (void)close(strangers[i]);
    return NULL;
}

static void strangers_hold_no_place_for_long(void) {
    struct result r;
    pthread_t other;
    atomic_store(&served, true);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, knock_on, NULL), 0);
    while (atomic_load(&served))
        (void)poll(NULL, 0, 10);
    fetch("a b", "tag-3", &r);
    atomic_store(&served, true);
    (void)pthread_join(other, NULL);
    CU_ASSERT_STRING_EQUAL(r.failure.text, "");
}

static void who_is_gone_is_noticed(void) {
    struct result r;
    catalog_end(&catalog, task);
    peer_server_close(&peer_server);
    int64_t begun = clock_now();
    fetch("lost", NULL, &r);
    ASSERT_CONTAINS(r.failure.text, "tried 3 times");
    CU_ASSERT_TRUE(clock_now() - begun < 60 * CLOCK_SECOND);
    catalog_done(&catalog);
    (void)close(here);
    (void)close(there);
}

UNIT_SUITE("transfer.peer_server", UNIT(a_file_that_is_here_arrives_whole),
           UNIT(whoever_comes_early_waits_and_hears_how_far_it_is), UNIT(another_key_gets_nothing),
           UNIT(strangers_hold_no_place_for_long), UNIT(who_is_gone_is_noticed))
