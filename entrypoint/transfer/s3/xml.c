#include "entrypoint/transfer/s3/xml.h"

#include <string.h>

void xml_fail(struct xml *x, const char *why) {
    if (x->fault.code == 0)
        (void)error_set(&x->fault, EXIT_CODE_DATA, "%s %s", x->what, why);
    (void)XML_StopParser(x->parser, XML_FALSE);
}

char *xml_copy(struct xml *x) {
    char *copy = strdup(x->text);
    if (copy == NULL)
        xml_fail(x, "does not fit into memory");
    return copy;
}

static void forget_text(struct xml *x) {
    x->size = 0;
    x->text[0] = '\0';
}

static void on_begin(void *context, const XML_Char *name, const XML_Char **attributes) {
    struct xml *x = context;
    (void)attributes;
    if (++x->depth > XML_DEPTH_MAX)
        xml_fail(x, "is nested too deep");
    else if (x->begin != NULL)
        x->begin(x, name);
    forget_text(x);
}

static void on_text(void *context, const XML_Char *text, int size) {
    struct xml *x = context;
    if (x->size + (size_t)size >= sizeof(x->text)) {
        xml_fail(x, "has a text that is too long");
        return;
    }
    memcpy(x->text + x->size, text, (size_t)size);
    x->size += (size_t)size;
    x->text[x->size] = '\0';
}

static void on_end(void *context, const XML_Char *name) {
    struct xml *x = context;
    x->end(x, name);
    x->depth--;
    forget_text(x);
}

static void on_doctype(void *context, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int internal) {
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    xml_fail(context, "has a document type");
}

int xml_read(struct xml *x, const char *document, size_t size, struct error *err) {
    x->parser = XML_ParserCreate("UTF-8");
    if (x->parser == NULL)
        return error_no_memory(err, x->what);
    XML_SetUserData(x->parser, x);
    XML_SetElementHandler(x->parser, on_begin, on_end);
    XML_SetCharacterDataHandler(x->parser, on_text);
    XML_SetStartDoctypeDeclHandler(x->parser, on_doctype);
    if (XML_Parse(x->parser, document, (int)size, 1) != XML_STATUS_OK && x->fault.code == 0)
        (void)error_set(&x->fault, EXIT_CODE_DATA, "%s is not XML: %s at line %lu", x->what,
                        XML_ErrorString(XML_GetErrorCode(x->parser)),
                        (unsigned long)XML_GetCurrentLineNumber(x->parser));
    XML_ParserFree(x->parser);
    x->parser = NULL;
    if (x->fault.code == 0)
        return 0;
    if (err != NULL)
        *err = x->fault;
    return -1;
}
