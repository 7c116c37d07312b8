#include "entrypoint/wire/tls.h"

#include "common/str.h"
#include "entrypoint/wire/frame.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The job's key is an external PSK (RFC 8446, section 4.2.11). OpenSSL has no call for a bare PSK
 * in TLS 1.3 except by a session: make_session() builds one from the key, the suite and the
 * version, and the two callbacks hand it out under the identity that all ringmasters share. With
 * (EC)DHE on top, recorded traffic stays closed even if the key leaks later.
 *
 * Everything that could let a peer in without the key is off: no certificates, no tickets, no early
 * data, no session cache, no older version. tls_check() asks once more after the handshake, because
 * a mistake in such settings fails open and silently. */

/* The suite by its name and by its number in the handshake. Its hash, SHA-384, is the reason for
 * TLS_KEY_SIZE, 48 bytes. */
static const char suite[] = "TLS_AES_256_GCM_SHA384";
static const unsigned char suite_bytes[2] = {0x13, 0x02};
static const unsigned char identity[] = "ringmaster 1";
enum { IDENTITY_SIZE = sizeof(identity) - 1, PROTOCOL_SIZE = 32 };
static const char protocol[] = "ringmaster/"; /* and the version of frame.h */

/* Only the first error of the queue is reported, which is the cause; the queue is emptied. Always
 * returns -1, like error_set(). */
int tls_error(struct error *err, enum exit_code code, const char *what) {
    char words[160] = "no reason given";
    unsigned long number = ERR_get_error();
    if (number != 0)
        ERR_error_string_n(number, words, sizeof(words));
    ERR_clear_error();
    return error_set(err, code, "%s: %s", what, words);
}

/* A client only learns of a wrong key by an alert, which is one of three. Anything that OpenSSL
 * itself did not report, such as a broken connection, says nothing about the key. */
enum exit_code tls_refusal(int is_server, unsigned long number) {
    int reason = ERR_GET_REASON(number);
    if (ERR_GET_LIB(number) != ERR_LIB_SSL)
        return EXIT_CODE_NOT_READY;
    bool key = is_server ? reason == SSL_R_BINDER_DOES_NOT_VERIFY
                         : reason == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER ||
                               reason == SSL_R_TLSV1_ALERT_DECRYPT_ERROR ||
                               reason == SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY;
    return key ? EXIT_CODE_KEY_REFUSED : EXIT_CODE_NOT_READY;
}

/* Wipes the key when the TLS context is freed. */
static void wipe_key(void *parent, void *key, CRYPTO_EX_DATA *all, int slot, long number,
                     void *argument) {
    (void)parent;
    (void)all;
    (void)slot;
    (void)number;
    (void)argument;
    OPENSSL_clear_free(key, TLS_KEY_SIZE);
}

/* Looked up by address alone: the place in a context where its key lies. */
static int key_slot(void) {
    static int slot = -1;
    if (slot < 0)
        slot = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, wipe_key);
    return slot;
}

/* The key dressed as the session that it stands for. */
static SSL_SESSION *make_session(SSL *ssl) {
    const unsigned char *key = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), key_slot());
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite_bytes);
    SSL_SESSION *session = SSL_SESSION_new();
    if (key == NULL || cipher == NULL || session == NULL ||
        SSL_SESSION_set1_master_key(session, key, TLS_KEY_SIZE) != 1 ||
        SSL_SESSION_set_cipher(session, cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
        SSL_SESSION_free(session);
        return NULL;
    }
    return session;
}

/* Called by OpenSSL for each handshake; it takes the session over. 0 ends the handshake. */
static int client_session(SSL *ssl, const EVP_MD *digest, const unsigned char **id, size_t *id_size,
                          SSL_SESSION **session) {
    (void)digest; /* one suite, one digest */
    *session = make_session(ssl);
    *id = identity;
    *id_size = IDENTITY_SIZE;
    return *session != NULL;
}

/* The identity is public and the same everywhere: it only tells ringmasters from other uses of PSK.
 * Whether the key fits is decided by the binder, which OpenSSL checks after this. */
static int server_session(SSL *ssl, const unsigned char *id, size_t id_size,
                          SSL_SESSION **session) {
    *session = NULL;
    if (id_size != IDENTITY_SIZE || memcmp(id, identity, IDENTITY_SIZE) != 0)
        return 1; /* unknown: without a certificate the handshake ends here */
    *session = make_session(ssl);
    return *session != NULL;
}

/* What a client offers is taken, whichever version it is: a peer of another one is to get that in
 * words, not as a broken handshake. */
static int take_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_size,
                         const unsigned char *offered, unsigned offered_size, void *context) {
    (void)ssl;
    (void)context;
    if (offered_size < 2)
        return SSL_TLSEXT_ERR_NOACK;
    *ret = offered + 1;
    *ret_size = offered[0];
    return SSL_TLSEXT_ERR_OK;
}

/* 0 when it worked, as this call alone has it. */
static int offer_protocol(SSL_CTX *context) {
    char text[PROTOCOL_SIZE];
    int size = snprintf(text + 1, sizeof(text) - 1, "%s%d", protocol, FRAME_VERSION);
    text[0] = (char)size;
    return SSL_CTX_set_alpn_protos(context, (const unsigned char *)text, (unsigned)size + 1);
}

/* Nothing selected means a peer from before there were offers, which speaks version 1. A name that
 * is no ringmaster's is version 0. */
int64_t tls_peer_version(const SSL *ssl) {
    const unsigned char *name = NULL;
    unsigned size = 0;
    char text[PROTOCOL_SIZE] = "";
    int64_t version = 0;
    SSL_get0_alpn_selected(ssl, &name, &size);
    if (size == 0)
        return 1;
    if (size < sizeof(text))
        memcpy(text, name, size);
    if (!str_starts_with(text, protocol) ||
        str_parse_int(text + sizeof(protocol) - 1, 1, INT32_MAX, &version, NULL) != 0)
        return 0;
    return version;
}

/* OPENSSL_malloc, as wipe_key() frees it by OPENSSL_clear_free. The context owns the copy from here
 * on. */
static int keep_key(SSL_CTX *context, const unsigned char key[TLS_KEY_SIZE]) {
    unsigned char *copy = OPENSSL_malloc(TLS_KEY_SIZE);
    if (copy == NULL)
        return 0;
    memcpy(copy, key, TLS_KEY_SIZE);
    return SSL_CTX_set_ex_data(context, key_slot(), copy);
}

/* What both sides have in common. */
static int arm(SSL_CTX *context, const unsigned char key[TLS_KEY_SIZE], struct error *err) {
    if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(context, suite) != 1 || SSL_CTX_set_num_tickets(context, 0) != 1 ||
        SSL_CTX_set_max_early_data(context, 0) != 1 || !keep_key(context, key))
        return tls_error(err, EXIT_CODE_INTERNAL, "setting up TLS");
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    return 0;
}

int tls_arm_client(SSL_CTX *context, const unsigned char key[TLS_KEY_SIZE], struct error *err) {
    if (arm(context, key, err) != 0)
        return -1;
    SSL_CTX_set_psk_use_session_callback(context, client_session);
    /* A server that offers a certificate instead of the key fails on it: no authority vouches for
     * it. */
    X509_STORE *nobody = X509_STORE_new();
    if (nobody == NULL)
        return tls_error(err, EXIT_CODE_INTERNAL, "setting up TLS");
    SSL_CTX_set_cert_store(context, nobody);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return 0;
}

static int arm_server(SSL_CTX *context, const unsigned char key[TLS_KEY_SIZE], struct error *err) {
    if (arm(context, key, err) != 0)
        return -1;
    SSL_CTX_set_psk_find_session_callback(context, server_session);
    SSL_CTX_set_alpn_select_cb(context, take_protocol, NULL);
    return 0;
}

/* The modes suit a nonblocking socket: a write may be partial, and its next try may come from a
 * buffer that has moved. Idle links hold no buffers of OpenSSL. */
SSL_CTX *tls_context_new(const unsigned char key[TLS_KEY_SIZE], int is_server, struct error *err) {
    SSL_CTX *context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    if (context == NULL || offer_protocol(context) != 0) {
        (void)tls_error(err, EXIT_CODE_INTERNAL, "setting up TLS");
        tls_context_free(context);
        return NULL;
    }
    (void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    int armed = is_server ? arm_server(context, key, err) : tls_arm_client(context, key, err);
    if (armed == 0)
        return context;
    tls_context_free(context);
    return NULL;
}

void tls_context_free(SSL_CTX *context) {
    SSL_CTX_free(context);
}

/* Without it OPENSSL_CONF or the system's openssl.cnf could load providers into this process. */
void tls_ignore_configuration(void) {
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

/* An exporter (RFC 8446, section 7.5): a value that both ends derive from the secrets, and that no
 * third party can know. It names the link when it is resumed. */
int tls_name(SSL *ssl, char ret[TLS_NAME_SIZE], struct error *err) {
    static const char label[] = "EXPORTER-ringmaster-link";
    unsigned char bytes[TLS_NAME_SIZE / 2];
    if (SSL_export_keying_material(ssl, bytes, sizeof(bytes), label, sizeof(label) - 1, NULL, 0,
                                   0) != 1)
        return tls_error(err, EXIT_CODE_INTERNAL, "a name for the link");
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

int tls_check(SSL *ssl, struct error *err) {
    const SSL_CIPHER *cipher = SSL_get_current_cipher(ssl);
    if (SSL_session_reused(ssl) != 1 || cipher == NULL ||
        strcmp(SSL_CIPHER_get_name(cipher), suite) != 0)
        return error_set(err, EXIT_CODE_NOT_READY, "the peer did not prove the job's key");
    return 0;
}

const char *tls_library(void) {
    return OpenSSL_version(OPENSSL_VERSION);
}
