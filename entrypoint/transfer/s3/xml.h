/* Reader of S3's XML answers, with Expat, with limits; a document type is refused. It is called at
 * each element's begin and end, with the text right before the end. */
#ifndef ENTRYPOINT_TRANSFER_S3_XML_H
#define ENTRYPOINT_TRANSFER_S3_XML_H

#include "common/error.h"

#include <expat.h>
#include <stddef.h>

enum { XML_DEPTH_MAX = 16, XML_TEXT_MAX = 16 * 1024 };

/* Large: not for a stack. */
struct xml {
    const char *what;                               /* for errors: "the listing" */
    void (*begin)(struct xml *x, const char *name); /* may be NULL */
    void (*end)(struct xml *x, const char *name);
    void *context;
    unsigned depth; /* of the element; the root's is 1 */
    char text[XML_TEXT_MAX];
    size_t size;
    struct error fault; /* its own: code 0 is none */
    XML_Parser parser;
};

/* Reads a complete DOCUMENT. An error is EXIT_CODE_DATA and begins with WHAT. */
int xml_read(struct xml *x, const char *document, size_t size, struct error *err);

/* In a callback: ends reading with the error "WHAT WHY". The first one counts. */
void xml_fail(struct xml *x, const char *why);

/* Returns a copy of the text, owned by the caller; NULL after xml_fail(). */
char *xml_copy(struct xml *x);

#endif
