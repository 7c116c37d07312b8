/* S3's small answers: XML documents of which one or two texts matter. Read as
 * xml.h says. */
#ifndef S3_DOCUMENT_H
#define S3_DOCUMENT_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DOCUMENT_ID_MAX = 1024, /* of an upload in parts */
    DOCUMENT_UPLOADS_MAX = 1000,
    DOCUMENT_PARTS_MAX = 1000, /* of a page */
    DOCUMENT_NUMBER_MAX = 10000,
    DOCUMENT_ETAG_MAX = 64,
};

/* The text of CHILD in a document whose root is ROOT; without either, or where the text is longer
 * than SIZE, it is an error. */
int document_text(const char *document, size_t size, const char *root, const char *child, char *ret,
                  size_t ret_size, struct error *err);

/* An upload in parts that was begun and neither ended nor given up. */
struct document_upload {
    char *key; /* owned */
    char *id;  /* owned */
};

struct document_uploads {
    struct document_upload *items; /* owned */
    size_t count;
};

void document_uploads_done(struct document_uploads *u);
/* A ListMultipartUploads answer; one page, DOCUMENT_UPLOADS_MAX at most. */
int document_uploads_read(const char *document, size_t size, struct document_uploads *ret,
                          struct error *err);

/* A part of one that is there. */
struct document_part {
    unsigned number; /* from 1 on */
    int64_t size;
    char etag[DOCUMENT_ETAG_MAX]; /* without quotes */
};

struct document_parts {
    struct document_part *items; /* owned */
    size_t count;
    unsigned next; /* the number behind which the next page begins; 0: this was the last */
};

void document_parts_done(struct document_parts *p);
/* A ListParts answer, one page. A part without number, size or ETag is left out. */
int document_parts_read(const char *document, size_t size, struct document_parts *ret,
                        struct error *err);

#endif
