/* One object or file that is fetched into a folder: under another name until it is whole and
 * verified, then renamed, so that who sees the name sees all of it. A try that was cut off goes on
 * where it ended, as long as it is still the same object. Verified are the size, the MD5 where the
 * ETag is one, and the SHA-256 where the server tells it, as another host must. */
#ifndef ENTRYPOINT_TRANSFER_FETCH_STREAM_H
#define ENTRYPOINT_TRANSFER_FETCH_STREAM_H

#include "entrypoint/transfer/disk/digest.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/http/pool.h"
#include "entrypoint/transfer/peers/peer_client.h"
#include "entrypoint/transfer/s3/etag.h"
#include "entrypoint/transfer/s3/s3.h"

struct stream_order {
    struct s3 *s3;      /* NULL: URL is fetched as it is */
    const char *bucket; /* of S3 */
    const char *key;
    const char *url;          /* of others */
    struct peer_client *peer; /* another host, asked in place of both; or NULL */
    const char *task;         /* then: by its name there */
    bool no_md5;              /* then: the source's ETags are known to be none */
    const char *name;         /* for people */
    int root;                 /* the folder, by descriptor */
    const char *path;         /* below it */
    int64_t size;             /* as listed; -1: not known */
    const char *etag;         /* as listed; NULL or "": not known */
    int64_t *fetched;         /* bytes that are here, of all; counted along */
    /* Once, at the end; the fetch may go away. FAILURE is NULL where it is there. */
    void (*ended)(void *context, const struct error *failure);
    void *context;
};

/* In place until `ended`. */
struct stream {
    struct stream_order order;
    struct exchange exchange;
    char etag[EXCHANGE_FIELD_MAX];
    char sha256[EXCHANGE_FIELD_MAX]; /* as told */
    char own_sha256[DIGEST_HEX_MAX]; /* of what is here, once it is whole */
    bool is_md5;                     /* the ETag */
    bool spared;  /* it failed, but not by the other host: that has another version or none, or the
                     fault is our own */
    bool doubted; /* the same: its bytes do not have the ETag's MD5, if that is one */
    struct digest md5;
    struct digest sha;
    int folder; /* that the file lies in */
    int fd;     /* of what is here; -1: none yet */
    int64_t have;
    int64_t size; /* -1: not known yet */
    char name[SAFE_DIR_NAME_MAX + 1];
    char temp[64];
};

/* Whether ETAG says that two answers are the same to the byte. */
bool stream_is_strong(const char *etag);

/* A request for what ORDER names, from its own source; headers that are there are signed as well.
 */
int stream_request(const struct stream_order *order, const char *method, struct request *ret,
                   struct error *err);

void stream_start(struct stream *f, const struct stream_order *order, struct pool *pool);

/* Whether the file is there already: its size and ETag (s3/etag.h) are those of the listing.
 * ALONG may be NULL. */
bool stream_is_there(int root, const char *path, int64_t size, const char *etag,
                     const struct etag_along *along);

/* Whether a file is there that was written later than MODIFIED, in seconds since 1970. */
bool stream_is_newer(int root, const char *path, int64_t modified);

#endif
