/* Digests over OpenSSL: of texts at once, of files while they come. */
#ifndef ENTRYPOINT_TRANSFER_DISK_DIGEST_H
#define ENTRYPOINT_TRANSFER_DISK_DIGEST_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { DIGEST_SHA256 = 32, DIGEST_MD5 = 16, DIGEST_HEX_MAX = 2 * DIGEST_SHA256 + 1 };

/* SIZE bytes as lower-case digits, with a NUL. */
void digest_hex(const unsigned char *bytes, size_t size, char *ret);

int digest_sha256(const void *bytes, size_t size, unsigned char ret[DIGEST_SHA256],
                  struct error *err);
int digest_hmac(const void *key, size_t key_size, const char *text,
                unsigned char ret[DIGEST_SHA256], struct error *err);

enum digest_kind { DIGEST_OF_MD5, DIGEST_OF_SHA256 };

/* One that grows; zeroed is none. */
struct digest {
    void *context; /* owned */
};

void digest_done(struct digest *d);
/* Begins anew where there is one. */
int digest_begin(struct digest *d, enum digest_kind kind, struct error *err);
int digest_add(struct digest *d, const void *bytes, size_t size, struct error *err);
/* Its bytes, of which an MD5 has 16. It can be added to no more. */
int digest_finish(struct digest *d, unsigned char ret[DIGEST_SHA256], struct error *err);
/* The same as digits. */
int digest_end(struct digest *d, char ret[DIGEST_HEX_MAX], struct error *err);

/* Whether TOLD, a SHA-256 as S3 tells it (base64), is another one than the digits OWN. "" is none,
 * and so is the digest of parts ("...-12"), whose sizes are not told. */
bool digest_told_differs(const char *told, const char own[DIGEST_HEX_MAX]);

#endif
