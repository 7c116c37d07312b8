/* What a source or target is called: s3://BUCKET/KEY, https://HOST/PATH, file:///PATH. A key is
 * taken as it stands, nothing in it is decoded. http:// is refused but for this machine: what it
 * brings could be anybody's. */
#ifndef ENTRYPOINT_TRANSFER_S3_ADDRESS_H
#define ENTRYPOINT_TRANSFER_S3_ADDRESS_H

#include "common/error.h"

#include <stdbool.h>

enum address_kind { ADDRESS_S3, ADDRESS_HTTP, ADDRESS_FILE };

enum { ADDRESS_MAX = 8 * 1024, ADDRESS_KEY_MAX = 1024, ADDRESS_BUCKET_MAX = 64 };

struct address {
    enum address_kind kind;
    char *text;       /* owned; as given */
    char *shown;      /* owned; for people: without what stands behind '?', which may be a secret */
    char *bucket;     /* owned; of S3, else NULL */
    const char *rest; /* borrowed from text: the key, or the path; "" for a whole bucket */
};

void address_done(struct address *a);
int address_parse(const char *text, struct address *ret, struct error *err);
/* The last part of key or path; "" where it ends with '/'. */
const char *address_name(const struct address *a);

#endif
