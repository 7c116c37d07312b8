/* Multipart upload of a large file to S3, with parallel parts.
 *
 * It appears under its name when all of it is there and the ETag of the whole is right; a failed
 * upload is aborted on the server, too, so that no parts are left. What a killed run has sent is
 * not sent again (resume.h). */
#ifndef ENTRYPOINT_TRANSFER_UPLOAD_MULTIPART_H
#define ENTRYPOINT_TRANSFER_UPLOAD_MULTIPART_H

#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/s3/s3.h"

#include <signal.h>

struct multipart_order {
    struct s3 *s3;
    const char *bucket;
    const char *key;
    const char *name; /* for people */
    int fd;
    int64_t size;
    int64_t deadline;
    const volatile sig_atomic_t *give_up;
    /* Called before completion: checks that FD is unchanged. May be NULL. */
    int (*check)(void *context, struct error *err);
    void (*tick)(void *context); /* once a second */
    void *context;
    int64_t *sent;
};

int multipart_send(const struct multipart_order *order, struct error *err);

/* At the start of a job: tests if TARGET accepts objects, with an upload that is begun and aborted.
 */
int multipart_probe(struct s3 *s3, const struct address *target, struct error *err);

/* At the start of a job: aborts what a killed one has begun below TARGET, except what can be
 * resumed, as the file in the directory FROM (NULL: none) is still the same. Returns how many were
 * aborted, or -1 if listing them is not allowed. */
int multipart_tidy(struct s3 *s3, const struct address *target, const char *from,
                   struct error *err);

#endif
