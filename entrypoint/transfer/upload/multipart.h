/* A large file sent to S3 in parts, side by side. It appears under its name when all of it is
 * there and the ETag of the whole is right; what fails is given up on the server, too, so that no
 * parts stay behind. What a killed start has sent of it is not sent again (resume.h). */
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
    /* Asked before it is completed: whether FD is still what it was. May be NULL. */
    int (*check)(void *context, struct error *err);
    void (*tick)(void *context); /* once a second */
    void *context;
    int64_t *sent;
};

int multipart_send(const struct multipart_order *order, struct error *err);

/* At a job's start: whether TARGET takes objects, found out by an upload that is begun and given
 * up. */
int multipart_probe(struct s3 *s3, const struct address *target, struct error *err);

/* At a job's start: gives up what a killed one has begun below TARGET, but for what can be gone on
 * with, as the file in the folder FROM (NULL: none) is still the same. Returns how many were given
 * up, or -1 where it is not allowed to ask. */
int multipart_tidy(struct s3 *s3, const struct address *target, const char *from,
                   struct error *err);

#endif
