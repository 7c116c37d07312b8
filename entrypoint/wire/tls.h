/* TLS 1.3 with the job's key and nothing else: external PSK with (EC)DHE, the one suite
 * TLS_AES_256_GCM_SHA384 pinned on both sides (with OpenSSL's default list the key is silently left
 * out), no certificate, no ticket, no early data. A peer without the key fails the handshake. */
#ifndef ENTRYPOINT_WIRE_TLS_H
#define ENTRYPOINT_WIRE_TLS_H

#include "common/error.h"

#include <openssl/types.h>
#include <stdint.h>

/* To be called first of all: OPENSSL_CONF and the system's openssl.cnf, which may load code of
 * anybody's choice and change what the link is made of, do not count for this process. */
void tls_ignore_configuration(void);

enum { TLS_KEY_SIZE = 48 };

/* What a key is made of, in the words for a refusal: any of these may be what differs. */
#define TLS_ANOTHER_KEY                                                                            \
    "another key: its secret (RINGMASTER_KEY, a file or the image build), list of hosts or job's " \
    "name differs"

/* Makes the context for one side. It holds a copy of the key, wiped by tls_context_free. */
SSL_CTX *tls_context_new(const unsigned char key[TLS_KEY_SIZE], int is_server, struct error *err);
void tls_context_free(SSL_CTX *context);

/* The same for a client's context that another module has made and frees, a library that speaks a
 * protocol of its own over it. */
int tls_arm_client(SSL_CTX *context, const unsigned char key[TLS_KEY_SIZE], struct error *err);

/* After the handshake: which version of the control link (frame.h) the peer speaks. A server learns
 * it from the client's offer (ALPN); a client learns from the answer that it is 1, from before
 * there were offers, or takes it for its own until a frame says otherwise. 0: none that we know. */
int64_t tls_peer_version(const SSL *ssl);

/* After the handshake: fails unless it was the key that admitted the peer. */
int tls_check(SSL *ssl, struct error *err);

enum { TLS_NAME_SIZE = 33 };
/* After the handshake: a name of the connection in hexadecimal digits, which both ends derive from
 * its secrets. */
int tls_name(SSL *ssl, char ret[TLS_NAME_SIZE], struct error *err);

/* Why a handshake ended by an error of the library, NUMBER (ERR_peek_error): EXIT_CODE_KEY_REFUSED
 * where the peer is a ringmaster that holds another key, which a server knows when the proof in the
 * greeting (the binder) fails, and a client by the alert that it gets then; EXIT_CODE_NOT_READY for
 * everything else, from a port scanner to a server that offers a certificate. */
enum exit_code tls_refusal(int is_server, unsigned long number);

/* Words for what the library last complained about; empties its queue. */
int tls_error(struct error *err, enum exit_code code, const char *what);

/* The library's name and version. */
const char *tls_library(void);

#endif
