#include "entrypoint/transfer/peers/peer_client.h"

#include "common/clock.h"
#include "tests/support/lag.h"
#include "tests/support/unit.h"
#include "tests/unit/entrypoint/transfer/peer_listener.h"
#include "tests/unit/entrypoint/wire/certificate.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static char url[PEER_URL_SIZE];

/* Answers one guest as a host would, by the context that it is given. */
struct impostor {
    int listener;
    SSL_CTX *tls;
    bool greeted; /* the handshake was done */
};

static void *answer_one(void *context) {
    static const char words[] = "HTTP/1.1 204 Here\r\n\r\n";
    struct impostor *i = context;
    struct pollfd watched = {.fd = i->listener, .events = POLLIN};
    char text[4096];
    size_t count = 0;
    (void)poll(&watched, 1, 60000);
    int fd = accept(i->listener, NULL, NULL);
    SSL *ssl = SSL_new(i->tls);
    if (SSL_set_fd(ssl, fd) == 1 && SSL_accept(ssl) == 1 &&
        SSL_read_ex(ssl, text, sizeof(text), &count) == 1) {
        i->greeted = true;
        (void)SSL_write_ex(ssl, words, sizeof(words) - 1, &count);
    }
    SSL_free(ssl);
    (void)close(fd);
    (void)close(i->listener);
    return NULL;
}

static int meet(struct impostor *i, struct peer_client *p, struct error *err) {
    pthread_t other;
    i->listener = peer_listener(url);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, answer_one, i), 0);
    int result = peer_client_meet(p, err);
    (void)pthread_join(other, NULL);
    SSL_CTX_free(i->tls);
    return result;
}

static void the_jobs_key_is_what_counts(void) {
    struct peer_client p = {.name = "algo-1", .url = url, .key = "key", .patience = 60};
    struct impostor good = {.tls = tls_context_new(p.key, true, NULL)};
    CU_ASSERT_EQUAL(meet(&good, &p, NULL), 0);
    CU_ASSERT_TRUE(good.greeted && p.met && !p.lost);
}

static void a_certificate_in_place_of_the_key_is_refused(void) {
    struct peer_client p = {.name = "algo-1", .url = url, .key = "key", .patience = 2};
    struct error err = {0};
    struct impostor bad = {.tls = SSL_CTX_new(TLS_server_method())};
    give_certificate(bad.tls);
    CU_ASSERT_EQUAL(meet(&bad, &p, &err), -1);
    CU_ASSERT_FALSE(bad.greeted);
    CU_ASSERT_TRUE(p.met && p.lost);
    ASSERT_CONTAINS(err.text, "certificate");
}

static void nobody_is_waited_for_no_longer_than_its_patience(void) {
    struct peer_client p = {.name = "algo-1", .url = url, .key = "key", .patience = 2};
    (void)close(peer_listener(url));
    struct lag lag;
    int64_t begun = clock_now();
    lag_begin(&lag);
    CU_ASSERT_EQUAL(peer_client_meet(&p, NULL), -1);
    CU_ASSERT_TRUE(clock_now() - begun >= 2 * CLOCK_SECOND);
    ASSERT_WITHIN(&lag, 2 * CLOCK_SECOND);
    CU_ASSERT_TRUE(p.lost);
}

static void its_words_are_understood(void) {
    static const struct {
        long status;
        const char *words;
        int result;
        uint64_t moves;
    } cases[] = {
        {PEER_CLIENT_LATER, "steps 0", 0, 0},
        {PEER_CLIENT_LATER, "steps 3", 0, 1},
        {PEER_CLIENT_LATER, "steps 3", 0, 1},
        {PEER_CLIENT_LATER, "steps -1", -1, 1},
        {PEER_CLIENT_LATER, "not found", -1, 1},
        {PEER_CLIENT_NEVER, "", -1, 1},
        {500, "steps 9", -1, 1},
    };
    struct peer_client p = {.name = "algo-1"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        struct answer answer = {.status = cases[i].status};
        buf_init(&answer.words, 64);
        CU_ASSERT_EQUAL(buf_add_text(&answer.words, cases[i].words, NULL), 0);
        CU_ASSERT_EQUAL(peer_client_refused(&p, &answer, &err), cases[i].result);
        CU_ASSERT_EQUAL(p.moves, cases[i].moves);
        if (cases[i].status == PEER_CLIENT_NEVER)
            CU_ASSERT_STRING_EQUAL(err.text, "algo-1 does not have it");
        buf_done(&answer.words);
    }
}

static void a_path_is_encoded_once(void) {
    const struct peer_client p = {.name = "algo-1", .url = "https://algo-1:7074"};
    struct request r = {.fd = -1};
    buf_init(&r.url, EXCHANGE_URL_MAX);
    CU_ASSERT_EQUAL(peer_client_prepare(&p, "a/b", "odd/a b%", &r, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&r.url), "https://algo-1:7074/a%2Fb/odd/a%20b%25");
    CU_ASSERT_PTR_EQUAL(r.key, p.key);
    request_done(&r);
}

UNIT_SUITE("transfer.peer_client", UNIT(the_jobs_key_is_what_counts),
           UNIT(a_certificate_in_place_of_the_key_is_refused),
           UNIT(nobody_is_waited_for_no_longer_than_its_patience), UNIT(its_words_are_understood),
           UNIT(a_path_is_encoded_once))
