/* Uploads in parts that a start has begun and, killed, neither ended nor given up: which there are,
 * and which of their parts are those of a file here, so that only the others are sent. A part
 * counts where its ETag is the MD5 of the file's bytes in its place; where the first one that the
 * server has is none of ours, none is asked for any more. */
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
    int64_t seconds;                      /* for each question */
    const volatile sig_atomic_t *give_up; /* or NULL */
};

/* All whose key begins with PREFIX. -1 also where it is not allowed to ask. */
int resume_list(const struct resume *u, const char *prefix, struct xml_fields_uploads *ret,
                struct error *err);

/* Of the upload ID of KEY, the parts of the SIZE bytes of FD that are there, MOST at most; fills in
 * those of the COUNT PARTS and returns how many they are, 0 where nobody can tell. */
unsigned resume_parts(const struct resume *u, const char *key, const char *id, int fd, int64_t size,
                      struct resume_part *parts, unsigned count, unsigned most);

#endif
