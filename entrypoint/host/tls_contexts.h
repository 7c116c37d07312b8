/* TLS contexts of a host's links.
 *
 * There is one for each role that this process may have, now or later, as the key itself is not
 * kept. Which roles these are depends on the job and its role state, so the file lies here and not
 * beside wire/tls.h, which makes a context of a key. */
#ifndef ENTRYPOINT_HOST_TLS_CONTEXTS_H
#define ENTRYPOINT_HOST_TLS_CONTEXTS_H

#include "common/error.h"
#include "entrypoint/host/failover/role_state.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/key.h"

#include <openssl/types.h>
#include <stdbool.h>

struct tls_contexts {
    SSL_CTX *tls; /* NULL for a single host; the role state's, if that is on */
    SSL_CTX
    *client; /* for a first host that connects to the host that leads the job; the role state's
                likewise */
    bool owned;
    unsigned char pass_key[KEY_SIZE]; /* key for sharing downloads, if hosts share them; the
                                         receiver wipes it */
};

/* Creates them. ROLE_STATE may be NULL. A single host has no link to protect; a required key must
 * be there all the same, so that a trial with one host fails as the real job would. */
int tls_contexts_open(struct tls_contexts *c, const struct job *job, struct role_state *role_state,
                      struct error *err);
void tls_contexts_close(struct tls_contexts *c);

#endif
