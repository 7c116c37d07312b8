/* What a host's links to others are made with: a TLS context for each role that this process may
 * have, now or in a later life, as the key itself does not stay. */
#ifndef HOST_CONTEXTS_H
#define HOST_CONTEXTS_H

#include "common/error.h"
#include "entrypoint/host/succession.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/key.h"

#include <openssl/types.h>
#include <stdbool.h>

struct contexts {
    SSL_CTX *tls; /* NULL for a host alone; the succession's, where that is on */
    SSL_CTX
    *client; /* a first host's own way to whoever may be it, too; the succession's likewise */
    bool owned;
    unsigned char pass_key[KEY_SIZE]; /* of what hosts pass on, where they do; to be wiped by who
                                         has handed it on */
};

/* SUCCESSION may be NULL. A host alone has no link to protect; whether a key is there is asked all
 * the same where one is required, so that a trial of one host fails as the job of many would. */
int contexts_open(struct contexts *c, const struct job *job, struct succession *succession,
                  struct error *err);
void contexts_close(struct contexts *c);

#endif
