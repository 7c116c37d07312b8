/* Parser of S3's small answers: XML documents of which one or two texts matter. See xml.h. */
#ifndef ENTRYPOINT_TRANSFER_S3_XML_FIELDS_H
#define ENTRYPOINT_TRANSFER_S3_XML_FIELDS_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    XML_FIELDS_ID_MAX = 1024, /* of an upload in parts */
    XML_FIELDS_UPLOADS_MAX = 1000,
    XML_FIELDS_PARTS_MAX = 1000, /* of a page */
    XML_FIELDS_NUMBER_MAX = 10000,
    XML_FIELDS_ETAG_MAX = 64,
};

/* Reads the text of CHILD in a document with the root ROOT; it is an error if either is missing, or
 * the text is longer than SIZE. */
int xml_fields_text(const char *document, size_t size, const char *root, const char *child,
                    char *ret, size_t ret_size, struct error *err);

/* A multipart upload that was neither completed nor aborted. */
struct xml_fields_upload {
    char *key; /* owned */
    char *id;  /* owned */
};

struct xml_fields_uploads {
    struct xml_fields_upload *items; /* owned */
    size_t count;
};

void xml_fields_uploads_done(struct xml_fields_uploads *u);
/* Reads a ListMultipartUploads answer; one page, at most XML_FIELDS_UPLOADS_MAX. */
int xml_fields_uploads_read(const char *document, size_t size, struct xml_fields_uploads *ret,
                            struct error *err);

/* A part of such an upload. */
struct xml_fields_part {
    unsigned number; /* from 1 on */
    int64_t size;
    char etag[XML_FIELDS_ETAG_MAX]; /* without quotes */
};

struct xml_fields_parts {
    struct xml_fields_part *items; /* owned */
    size_t count;
    unsigned next; /* the number after which the next page begins; 0: this was the last */
};

void xml_fields_parts_done(struct xml_fields_parts *p);
/* Reads a ListParts answer, one page. A part without number, size or ETag is skipped. */
int xml_fields_parts_read(const char *document, size_t size, struct xml_fields_parts *ret,
                          struct error *err);

#endif
