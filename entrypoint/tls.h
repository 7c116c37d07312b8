/* TLS 1.3 with the job's key and nothing else: external PSK with (EC)DHE, the one suite
 * TLS_AES_256_GCM_SHA384 pinned on both sides (with OpenSSL's default list the key is silently left
 * out), no certificate, no ticket, no early data. Whoever lacks the key fails the handshake. */
#ifndef ENTRYPOINT_TLS_H
#define ENTRYPOINT_TLS_H

#include "common/error.h"
#include "entrypoint/key.h"

#include <openssl/types.h>

/* Makes the context for one side. It holds a copy of the key, wiped by tls_context_free. */
SSL_CTX *tls_context_new(const struct key *key, int is_server, struct error *err);
void tls_context_free(SSL_CTX *context);

/* After the handshake: was it really the key that let them in? */
int tls_check(SSL *ssl, struct error *err);

/* Words for what the library last complained about; empties its queue. */
int tls_error(struct error *err, enum exit_code code, const char *what);

#endif
