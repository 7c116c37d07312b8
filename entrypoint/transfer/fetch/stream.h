/* Download of one object or file in one stream: under another name until it is complete and
 * verified, then renamed.
 *
 * An interrupted try resumes where it ended, as long as it is still the same object. Verified are
 * the size, the MD5 if the ETag is one, and the SHA-256 if the server gives it, as another host
 * must. */
#ifndef ENTRYPOINT_TRANSFER_FETCH_STREAM_H
#define ENTRYPOINT_TRANSFER_FETCH_STREAM_H

#include "entrypoint/transfer/disk/digest.h"
#include "entrypoint/transfer/disk/safe_dir.h"
#include "entrypoint/transfer/http/exchange_pool.h"
#include "entrypoint/transfer/peers/peer_client.h"
#include "entrypoint/transfer/s3/etag.h"
#include "entrypoint/transfer/s3/s3.h"

struct stream_order {
    struct s3 *s3;      /* NULL: URL is used as it is */
    const char *bucket; /* of S3 */
    const char *key;
    const char *url;          /* of others */
    const char *user;         /* then: for basic authentication; NULL: none */
    const char *password;     /* with it */
    struct peer_client *peer; /* another host, asked instead of both; or NULL */
    const char *task;         /* then: its name there */
    bool no_md5;              /* then: the source's ETags are known not to be MD5s */
    const char *name;         /* for people */
    int root;                 /* the folder, by descriptor */
    const char *path;         /* below it */
    int64_t size;             /* as listed; -1: not known */
    const char *etag;         /* as listed; NULL or "": not known */
    int64_t *fetched;         /* counter of received bytes of all files */
    /* Called once, at the end; the object may be freed then. FAILURE is NULL on success. */
    void (*ended)(void *context, const struct error *failure);
    void *context;
};

/* Must stay in place until `ended`. */
struct stream {
    struct stream_order order;
    struct exchange exchange;
    char etag[EXCHANGE_FIELD_MAX];
    char sha256[EXCHANGE_FIELD_MAX]; /* as the server gives it */
    char own_sha256[DIGEST_HEX_MAX]; /* of the file, once it is complete */
    bool is_md5;                     /* the ETag */
    bool spared; /* it failed, but not because of the other host, which has another version or none,
                    or because of a local fault */
    bool doubted; /* likewise: its bytes do not match the ETag's MD5, if that is one */
    struct digest md5;
    struct digest sha;
    int folder; /* that the file lies in */
    int fd;     /* of what is here; -1: none yet */
    int64_t have;
    int64_t size; /* -1: not known yet */
    char name[SAFE_DIR_NAME_MAX + 1];
    char temp[64];
};

/* Returns true if ETAG identifies content to the byte. */
bool stream_is_strong(const char *etag);

/* Prepares a request to the order's source; headers that are there are signed as well. */
int stream_request(const struct stream_order *order, const char *method, struct request *ret,
                   struct error *err);

void stream_start(struct stream *f, const struct stream_order *order, struct exchange_pool *pool);

/* Returns true if the file is there already: its size and ETag (s3/etag.h) are those of the
 * listing. ALONG may be NULL. */
bool stream_is_there(int root, const char *path, int64_t size, const char *etag,
                     const struct etag_along *along);

/* Returns true if a file is there that was written later than MODIFIED, in seconds since 1970. */
bool stream_is_newer(int root, const char *path, int64_t modified);

#endif
