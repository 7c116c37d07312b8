/* Resumption of multipart uploads that a killed run has left: finds them, and which of their parts
 * match the file here, so that only the others are sent.
 *
 * A part matches if its ETag is the MD5 of the file's bytes in its place; if the server's first one
 * does not match, no further ones are checked. */
#ifndef ENTRYPOINT_TRANSFER_UPLOAD_RESUME_H
#define ENTRYPOINT_TRANSFER_UPLOAD_RESUME_H

#include "entrypoint/transfer/disk/digest.h"
#include "entrypoint/transfer/s3/s3.h"
#include "entrypoint/transfer/s3/xml_fields.h"

#include <signal.h>
#include <stdbool.h>

struct resume_part {
    char etag[EXCHANGE_FIELD_MAX]; /* the server's */
    unsigned char md5[DIGEST_MD5]; /* ours */
    bool there;
};

struct resume {
    struct s3 *s3;
    const char *bucket;
    const char *name;                     /* for people */
    int64_t seconds;                      /* for each request */
    const volatile sig_atomic_t *give_up; /* or NULL */
};

/* Lists all uploads to keys that begin with PREFIX. Returns -1 also if listing is not allowed. */
int resume_list(const struct resume *u, const char *prefix, struct xml_fields_uploads *ret,
                struct error *err);

/* Finds at most MOST parts of the upload ID of KEY that match the SIZE bytes of FD; fills them in
 * among the COUNT PARTS and returns how many there are, 0 if unknown. */
unsigned resume_parts(const struct resume *u, const char *key, const char *id, int fd, int64_t size,
                      struct resume_part *parts, unsigned count, unsigned most);

#endif
