#include "entrypoint/wire/tls.h"

#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"
#include "tests/unit/entrypoint/wire/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <string.h>

/* Two ends joined in memory. Both contexts are ours to change before the handshake. */
struct ends {
    SSL_CTX *server_context;
    SSL_CTX *client_context;
    SSL *server;
    SSL *client;
};

static SSL_CTX *context_of(unsigned char fill, int is_server) {
    struct error err = {0};
    unsigned char key[TLS_KEY_SIZE];
    memset(key, fill, sizeof(key));
    return tls_context_new(key, is_server, &err);
}

static void ends_open(struct ends *e, SSL_CTX *server, SSL_CTX *client) {
    *e = (struct ends){.server_context = server, .client_context = client};
    CU_ASSERT_PTR_NOT_NULL_FATAL(server);
    CU_ASSERT_PTR_NOT_NULL_FATAL(client);
    e->server = SSL_new(server);
    e->client = SSL_new(client);
    BIO *one = NULL;
    BIO *two = NULL;
    CU_ASSERT_EQUAL_FATAL(BIO_new_bio_pair(&one, 0, &two, 0), 1);
    SSL_set_bio(e->server, one, one);
    SSL_set_bio(e->client, two, two);
    SSL_set_accept_state(e->server);
    SSL_set_connect_state(e->client);
}

static void ends_close(struct ends *e) {
    SSL_free(e->server);
    SSL_free(e->client);
}

static int failed(SSL *ssl, int result) {
    int kind = SSL_get_error(ssl, result);
    return result != 1 && kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE;
}

/* 0 when both ends are through. */
static int shake(struct ends *e) {
    for (int i = 0; i < 20; i++) {
        int a = SSL_do_handshake(e->client);
        int b = SSL_do_handshake(e->server);
        if (a == 1 && b == 1)
            return 0;
        if (failed(e->client, a) || failed(e->server, b))
            return -1;
    }
    return -1;
}

static void the_same_key_opens_and_is_what_was_used(void) {
    struct error err = {0};
    SSL_CTX *server = context_of(7, 1);
    SSL_CTX *client = context_of(7, 0);
    struct ends e;
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(shake(&e), 0);
    CU_ASSERT_EQUAL(tls_check(e.client, &err), 0);
    CU_ASSERT_EQUAL(tls_check(e.server, &err), 0);
    CU_ASSERT_STRING_EQUAL(SSL_get_version(e.client), "TLSv1.3");
    CU_ASSERT_STRING_EQUAL(SSL_get_cipher_name(e.client), "TLS_AES_256_GCM_SHA384");
    CU_ASSERT_PTR_NULL(SSL_get0_peer_certificate(e.client));
    CU_ASSERT(SSL_get_negotiated_group(e.client) != 0); /* with Diffie-Hellman */
    ends_close(&e);
    tls_context_free(server);
    tls_context_free(client);
}

static void another_key_is_refused(void) {
    struct error err = {0};
    SSL_CTX *server = context_of(7, 1);
    SSL_CTX *client = context_of(8, 0);
    struct ends e;
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(shake(&e), -1);
    CU_ASSERT_EQUAL(tls_error(&err, EXIT_CODE_KEY_REFUSED, "no"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_KEY_REFUSED);
    ends_close(&e);
    tls_context_free(server);
    tls_context_free(client);
}

static void a_client_without_any_key_is_refused(void) {
    SSL_CTX *server = context_of(7, 1);
    SSL_CTX *client = SSL_CTX_new(TLS_client_method());
    struct ends e;
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(shake(&e), -1);
    ends_close(&e);
    tls_context_free(server);
    SSL_CTX_free(client);
}

/* A server that knows no key and shows a certificate instead. */
static SSL_CTX *impostor(int version) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    give_certificate(context);
    CU_ASSERT_EQUAL(SSL_CTX_set_min_proto_version(context, version), 1);
    CU_ASSERT_EQUAL(SSL_CTX_set_max_proto_version(context, version), 1);
    return context;
}

static void a_certificate_does_not_make_a_master(void) {
    struct error err = {0};
    SSL_CTX *server = impostor(TLS1_3_VERSION);
    SSL_CTX *client = context_of(7, 0);
    struct ends e;
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(shake(&e), -1);
    CU_ASSERT_EQUAL(tls_refusal(0, ERR_peek_error()), EXIT_CODE_NOT_READY); /* a stranger */
    ERR_clear_error();
    ends_close(&e);
    /* The second line of defence alone: a peer that did not prove the key is found out afterwards.
     */
    SSL_CTX_set_verify(client, SSL_VERIFY_NONE, NULL);
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(shake(&e), 0);
    CU_ASSERT_EQUAL(tls_check(e.client, &err), -1);
    ASSERT_CONTAINS(err.text, "did not prove the job's key");
    ends_close(&e);
    SSL_CTX_free(server);
    tls_context_free(client);
}

static void an_older_version_is_refused(void) {
    struct ends e;
    /* Peers that could do without the key, if only the version were taken. */
    SSL_CTX *server = impostor(TLS1_2_VERSION);
    SSL_CTX *client = context_of(7, 0);
    SSL_CTX_set_verify(client, SSL_VERIFY_NONE, NULL);
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(shake(&e), -1);
    ends_close(&e);
    SSL_CTX_free(server);
    tls_context_free(client);
    server = context_of(7, 1);
    give_certificate(server);
    client = SSL_CTX_new(TLS_client_method());
    CU_ASSERT_EQUAL(SSL_CTX_set_max_proto_version(client, TLS1_2_VERSION), 1);
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(shake(&e), -1);
    ends_close(&e);
    tls_context_free(server);
    SSL_CTX_free(client);
}

static void another_key_is_distinguished_from_everything_else(void) {
    SSL_CTX *server = context_of(7, 1);
    SSL_CTX *client = context_of(8, 0);
    struct ends e;
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(SSL_do_handshake(e.client), -1);
    ERR_clear_error();
    CU_ASSERT_EQUAL(SSL_do_handshake(e.server), -1);
    CU_ASSERT_EQUAL(tls_refusal(1, ERR_peek_error()), EXIT_CODE_KEY_REFUSED);
    CU_ASSERT_EQUAL(tls_refusal(0, ERR_peek_error()), EXIT_CODE_NOT_READY);
    ERR_clear_error();
    CU_ASSERT_EQUAL(SSL_do_handshake(e.client), -1);
    CU_ASSERT_EQUAL(tls_refusal(0, ERR_peek_error()), EXIT_CODE_KEY_REFUSED);
    CU_ASSERT_EQUAL(tls_refusal(1, ERR_peek_error()), EXIT_CODE_NOT_READY);
    ERR_clear_error();
    ends_close(&e);
    tls_context_free(client);
    client = SSL_CTX_new(TLS_client_method());
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(SSL_do_handshake(e.client), -1);
    ERR_clear_error();
    CU_ASSERT_EQUAL(SSL_do_handshake(e.server), -1);
    CU_ASSERT_EQUAL(tls_refusal(1, ERR_peek_error()), EXIT_CODE_NOT_READY);
    ERR_clear_error();
    ends_close(&e);
    tls_context_free(server);
    SSL_CTX_free(client);
}

/* The version of the messages that the other side speaks. */
static int64_t version_heard(SSL_CTX *server, SSL_CTX *client, bool by_server) {
    struct ends e;
    ends_open(&e, server, client);
    CU_ASSERT_EQUAL(shake(&e), 0);
    int64_t version = tls_peer_version(by_server ? e.server : e.client);
    ends_close(&e);
    return version;
}

static void the_handshake_tells_the_version_of_the_messages(void) {
    SSL_CTX *server = context_of(7, 1);
    SSL_CTX *client = context_of(7, 0);
    CU_ASSERT_EQUAL(version_heard(server, client, true), FRAME_VERSION);
    CU_ASSERT_EQUAL(version_heard(server, client, false), FRAME_VERSION);
    static const unsigned char newer[] = "\x0fringmaster/1234", odd[] = "\x02h2";
    CU_ASSERT_EQUAL(SSL_CTX_set_alpn_protos(client, newer, sizeof(newer) - 1), 0);
    CU_ASSERT_EQUAL(version_heard(server, client, true), 1234);
    CU_ASSERT_EQUAL(SSL_CTX_set_alpn_protos(client, odd, sizeof(odd) - 1), 0);
    CU_ASSERT_EQUAL(version_heard(server, client, true), 0);
    CU_ASSERT_EQUAL(SSL_CTX_set_alpn_protos(client, NULL, 0), 0);
    CU_ASSERT_EQUAL(version_heard(server, client, true), 1);
    tls_context_free(client);
    client = context_of(7, 0);
    SSL_CTX_set_alpn_select_cb(server, NULL, NULL);
    CU_ASSERT_EQUAL(version_heard(server, client, false), 1);
    tls_context_free(server);
    tls_context_free(client);
}

UNIT_SUITE("wire.tls", UNIT(the_same_key_opens_and_is_what_was_used), UNIT(another_key_is_refused),
           UNIT(a_client_without_any_key_is_refused), UNIT(a_certificate_does_not_make_a_master),
           UNIT(an_older_version_is_refused),
           UNIT(another_key_is_distinguished_from_everything_else),
           UNIT(the_handshake_tells_the_version_of_the_messages))
