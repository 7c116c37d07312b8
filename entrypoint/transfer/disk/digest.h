/* Message digests with OpenSSL: of texts at once, of files as they arrive. */
#ifndef ENTRYPOINT_TRANSFER_DISK_DIGEST_H
#define ENTRYPOINT_TRANSFER_DISK_DIGEST_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { DIGEST_SHA256 = 32, DIGEST_MD5 = 16, DIGEST_HEX_MAX = 2 * DIGEST_SHA256 + 1 };

/* Writes SIZE bytes as lower-case hexadecimal digits, with a NUL. */
void digest_hex(const unsigned char *bytes, size_t size, char *ret);

int digest_sha256(const void *bytes, size_t size, unsigned char ret[DIGEST_SHA256],
                  struct error *err);
int digest_hmac(const void *key, size_t key_size, const char *text,
                unsigned char ret[DIGEST_SHA256], struct error *err);

enum digest_kind { DIGEST_OF_MD5, DIGEST_OF_SHA256 };

/* An incremental digest; zeroed, it is closed. */
struct digest {
    void *context; /* owned */
};

void digest_done(struct digest *d);
/* Begins it, or begins anew. */
int digest_begin(struct digest *d, enum digest_kind kind, struct error *err);
int digest_add(struct digest *d, const void *bytes, size_t size, struct error *err);
/* Returns the bytes, 16 for an MD5. Nothing can be added afterwards. */
int digest_finish(struct digest *d, unsigned char ret[DIGEST_SHA256], struct error *err);
/* The same as hexadecimal digits. */
int digest_end(struct digest *d, char ret[DIGEST_HEX_MAX], struct error *err);

/* Returns true if GIVEN, a SHA-256 as S3 gives it (base64), differs from the digits OWN. "" does
 * not, and neither does the digest of parts ("...-12"), as their sizes are unknown. */
bool digest_given_differs(const char *given, const char own[DIGEST_HEX_MAX]);

#endif
