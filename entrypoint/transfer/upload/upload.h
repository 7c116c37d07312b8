/* Upload of a directory to a target: new or changed files are sent, oldest first, so that a file
 * which names others comes after them.
 *
 * S3 shows an object when it is complete; in a directory (file://) a file gets its name then. A
 * file that is being written waits for the next round; one that changes while it is read is sent
 * again. Nothing here writes to the directory. */
#ifndef ENTRYPOINT_TRANSFER_UPLOAD_UPLOAD_H
#define ENTRYPOINT_TRANSFER_UPLOAD_UPLOAD_H

#include "entrypoint/transfer/disk/scan.h"
#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/s3/s3.h"

#include <signal.h>

struct upload {
    const char *what;  /* for people */
    const char *from;  /* the folder */
    const char *only;  /* a single file of it; NULL: all */
    bool mirror;       /* files removed from the directory are removed from the target */
    struct address to; /* owned; S3 or file; its key ends with '/' or is "" */
    struct s3 *s3;
    int64_t deadline;
    const volatile sig_atomic_t *give_up;
    void (*say)(const char *line);
    /* private */
    struct scan known; /* files of the last round */
};

void upload_done(struct upload *u);

/* Reads what the target has already, which is not sent again. */
int upload_meet(struct upload *u, struct error *err);

/* Sends what is new. LAST: no process writes any more; what cannot be sent is an error. A failure
 * leaves the rest for the next round; the first one is reported. */
int upload_round(struct upload *u, bool last, struct error *err);

#endif
