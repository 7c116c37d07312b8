/* Address of a source or target: s3://BUCKET/KEY, https://HOST/PATH, file:///PATH.
 *
 * first:///PATH is a folder of the first host, for all hosts (fetch/first_folder.h).
 *
 * A key is taken literally, nothing in it is decoded. http:// is refused except for this machine,
 * as its content could be anybody's. */
#ifndef ENTRYPOINT_TRANSFER_S3_ADDRESS_H
#define ENTRYPOINT_TRANSFER_S3_ADDRESS_H

#include "common/error.h"

#include <stdbool.h>

enum address_kind { ADDRESS_S3, ADDRESS_HTTP, ADDRESS_FILE, ADDRESS_FIRST };

enum { ADDRESS_MAX = 8 * 1024, ADDRESS_KEY_MAX = 1024, ADDRESS_BUCKET_MAX = 64 };

struct address {
    enum address_kind kind;
    char *text;       /* owned; as given */
    char *shown;      /* owned; for messages: without the part after '?', which may be a secret */
    char *bucket;     /* owned; of S3, else NULL */
    const char *rest; /* borrowed from text: the key, or the path; "" for a whole bucket */
};

void address_done(struct address *a);
int address_parse(const char *text, struct address *ret, struct error *err);
/* The same for https:// alone, and with PLAIN also http:// of any host. */
int address_parse_web(const char *text, bool plain, struct address *ret, struct error *err);
/* Returns the last part of key or path; "" if it ends with '/'. */
const char *address_name(const struct address *a);

#endif
