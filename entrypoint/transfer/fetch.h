/* One object or file that is fetched into a folder: under another name until it is whole and
 * verified, then renamed, so that who sees the name sees all of it. A try that was cut off goes on
 * where it ended, as long as it is still the same object. Verified are the size, the MD5 where the
 * ETag is one, and the SHA-256 where the server tells it. */
#ifndef TRANSFER_FETCH_H
#define TRANSFER_FETCH_H

#include "transfer/digest.h"
#include "transfer/folder.h"
#include "transfer/pool.h"
#include "transfer/s3.h"

struct fetch_order {
    struct s3 *s3;      /* NULL: URL is fetched as it is */
    const char *bucket; /* of S3 */
    const char *key;
    const char *url;  /* of others */
    const char *name; /* for people */
    int root;         /* the folder, by descriptor */
    const char *path; /* below it */
    int64_t size;     /* as listed; -1: not known */
    const char *etag; /* as listed; NULL or "": not known */
    int64_t *fetched; /* bytes that are here, of all; counted along */
    /* Once, at the end; the fetch may go away. FAILURE is NULL where it is there. */
    void (*ended)(void *context, const struct error *failure);
    void *context;
};

/* In place until `ended`. */
struct fetch {
    struct fetch_order order;
    struct exchange exchange;
    char etag[EXCHANGE_FIELD_MAX];
    char sha256[EXCHANGE_FIELD_MAX];
    bool is_md5; /* the ETag */
    struct digest md5;
    struct digest sha;
    int folder; /* that the file lies in */
    int fd;     /* of what is here; -1: none yet */
    int64_t have;
    int64_t size; /* -1: not known yet */
    char name[FOLDER_NAME_MAX + 1];
    char temp[64];
};

void fetch_start(struct fetch *f, const struct fetch_order *order, struct pool *pool);

/* Whether the file is there already: its size and ETag (etag.h) are those of the listing. */
bool fetch_is_there(int root, const char *path, int64_t size, const char *etag);

/* Whether a file is there that was written later than MODIFIED, in seconds since 1970. */
bool fetch_is_newer(int root, const char *path, int64_t modified);

#endif
