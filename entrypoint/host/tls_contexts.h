/* What a host's links to others are made with: a TLS context for each role that this process may
 * have, now or in a later life, as the key itself does not stay. */
#ifndef ENTRYPOINT_HOST_TLS_CONTEXTS_H
#define ENTRYPOINT_HOST_TLS_CONTEXTS_H

#include "common/error.h"
#include "entrypoint/host/role_state.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/key.h"

#include <openssl/types.h>
#include <stdbool.h>

struct tls_contexts {
    SSL_CTX *tls; /* NULL for a host alone; the succession's, where that is on */
    SSL_CTX
    *client; /* a first host's own way to whoever may be it, too; the succession's likewise */
    bool owned;
    unsigned char pass_key[KEY_SIZE]; /* of what hosts pass on, where they do; to be wiped by who
                                         has handed it on */
};

/* SUCCESSION may be NULL. A host alone has no link to protect; whether a key is there is asked all
 * the same where one is required, so that a trial of one host fails as the job of many would. */
int tls_contexts_open(struct tls_contexts *c, const struct job *job, struct role_state *role_state,
                      struct error *err);
void tls_contexts_close(struct tls_contexts *c);

#endif
