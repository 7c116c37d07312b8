/* S3's answers, read by Expat as they come, with ceilings; a document type is refused. The reader
 * is handed each element's begin and end, with the text that stood right before the end. */
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

/* DOCUMENT whole. An error is EXIT_CODE_DATA and begins with WHAT. */
int xml_read(struct xml *x, const char *document, size_t size, struct error *err);

/* In a callback: reading ends with "WHAT WHY". The first one counts. */
void xml_fail(struct xml *x, const char *why);

/* A copy of the text, the caller's; NULL behind xml_fail(). */
char *xml_copy(struct xml *x);

#endif
