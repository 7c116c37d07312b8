/* Parser of S3's ListObjectsV2 answers: XML, read with Expat, with limits on depth, texts and
 * numbers. A document type, which could define entities, is refused. */
#ifndef ENTRYPOINT_TRANSFER_S3_OBJECTS_H
#define ENTRYPOINT_TRANSFER_S3_OBJECTS_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OBJECTS_PAGE_MAX = 16 * 1024 * 1024, /* bytes of one answer */
    OBJECTS_MAX = 1000 * 1000,           /* objects in all */
    OBJECTS_TOKEN_MAX = 4096,
    OBJECTS_ETAG_MAX = 160,
};

struct object {
    char *key;  /* owned */
    char *etag; /* owned; without quotes */
    int64_t size;
    int64_t modified; /* seconds since 1970; 0: not given */
};

struct objects {
    struct object *items; /* owned */
    size_t count;
    size_t capacity;
    char token[OBJECTS_TOKEN_MAX]; /* of the next page; "": this was the last */
};

void objects_done(struct objects *l);
/* Appends the objects of a page. Keys are decoded (encoding-type=url). */
int objects_add_page(struct objects *l, const char *text, size_t size, struct error *err);

#endif
