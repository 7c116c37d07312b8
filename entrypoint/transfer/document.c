#include "transfer/document.h"

#include "common/cleanup.h"
#include "transfer/percent.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, NAME_MAX_SIZE = 64 };

struct reading {
    XML_Parser parser;
    struct error fault; /* code 0: none */
    unsigned depth;
    char root[NAME_MAX_SIZE];
    char item[NAME_MAX_SIZE]; /* the element below the root that we are in */
    char text[DOCUMENT_TEXT_MAX];
    size_t size;
    /* The end of an element at depth 2 or 3, with its text. */
    void (*element)(struct reading *r, const char *name);
    const char *child; /* of document_text() */
    char *ret;
    size_t ret_size;
    bool found;
    struct document_uploads *uploads;
    struct document_upload upload;
    bool encoded; /* keys are */
};

static void fail(struct reading *r, const char *what) {
    if (r->fault.code == 0)
        (void)error_set(&r->fault, EXIT_CODE_DATA, "the server's answer %s", what);
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static void keep_name(char ret[NAME_MAX_SIZE], const char *name) {
    size_t size = strlen(name);
    size = size < NAME_MAX_SIZE ? size : NAME_MAX_SIZE - 1;
    memcpy(ret, name, size);
    ret[size] = '\0';
}

static void on_begin(void *context, const XML_Char *name, const XML_Char **attributes) {
    struct reading *r = context;
    (void)attributes;
    if (++r->depth > DEPTH_MAX)
        fail(r, "is nested too deep");
    else if (r->depth == 1)
        keep_name(r->root, name);
    else if (r->depth == 2)
        keep_name(r->item, name);
    r->size = 0;
    r->text[0] = '\0';
}

static void on_text(void *context, const XML_Char *text, int size) {
    struct reading *r = context;
    if (r->size + (size_t)size >= sizeof(r->text)) {
        fail(r, "has a text that is too long");
        return;
    }
    memcpy(r->text + r->size, text, (size_t)size);
    r->size += (size_t)size;
    r->text[r->size] = '\0';
}

static void on_end(void *context, const XML_Char *name) {
    struct reading *r = context;
    if (r->depth == 2 || r->depth == 3)
        r->element(r, name);
    r->depth--;
    r->size = 0;
    r->text[0] = '\0';
}

static void on_doctype(void *context, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int internal) {
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    fail(context, "has a document type");
}

static int parse(struct reading *r, const char *document, size_t size, struct error *err) {
    r->parser = XML_ParserCreate("UTF-8");
    if (r->parser == NULL)
        return error_no_memory(err, "an answer");
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_begin, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
    if (XML_Parse(r->parser, document, (int)size, 1) != XML_STATUS_OK && r->fault.code == 0)
        (void)error_set(&r->fault, EXIT_CODE_DATA, "the server's answer is no XML: %s",
                        XML_ErrorString(XML_GetErrorCode(r->parser)));
    XML_ParserFree(r->parser);
    if (r->fault.code == 0)
        return 0;
    if (err != NULL)
        *err = r->fault;
    return -1;
}

/* --- one text --------------------------------------------------------------------------------- */

static void take_text(struct reading *r, const char *name) {
    if (r->depth != 2 || r->found || strcmp(name, r->child) != 0)
        return;
    if (r->size >= r->ret_size) {
        fail(r, "has a text that is too long");
        return;
    }
    memcpy(r->ret, r->text, r->size + 1);
    r->found = true;
}

int document_text(const char *document, size_t size, const char *root, const char *child, char *ret,
                  size_t ret_size, struct error *err) {
    cleanup_free struct reading *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return error_no_memory(err, "an answer");
    r->element = take_text;
    r->child = child;
    r->ret = ret;
    r->ret_size = ret_size;
    if (parse(r, document, size, err) != 0)
        return -1;
    if (r->found && strcmp(r->root, root) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "the server's answer is a %.64s without %s", r->root,
                     child);
}

/* --- uploads in parts ------------------------------------------------------------------------- */

static void forget(struct document_upload *u) {
    free(u->key);
    free(u->id);
    *u = (struct document_upload){0};
}

void document_uploads_done(struct document_uploads *u) {
    for (size_t i = 0; i < u->count; i++)
        forget(&u->items[i]);
    free(u->items);
    *u = (struct document_uploads){0};
}

/* Those that lack something are left alone: they are not ours to end. */
static void end_upload(struct reading *r) {
    struct document_uploads *u = r->uploads;
    if (r->upload.key != NULL && r->upload.id != NULL && u->count < DOCUMENT_UPLOADS_MAX) {
        u->items[u->count++] = r->upload;
        r->upload = (struct document_upload){0};
    }
    forget(&r->upload);
}

static char *copy(struct reading *r) {
    char *text = strdup(r->text);
    if (text == NULL)
        fail(r, "does not fit into memory");
    return text;
}

static void take_upload(struct reading *r, const char *name) {
    if (r->depth == 2 && strcmp(name, "EncodingType") == 0)
        r->encoded = strcmp(r->text, "url") == 0;
    if (strcmp(r->item, "Upload") != 0)
        return;
    if (r->depth == 2)
        end_upload(r);
    else if (strcmp(name, "Key") == 0 && r->upload.key == NULL)
        r->upload.key = copy(r);
    else if (strcmp(name, "UploadId") == 0 && r->upload.id == NULL && r->size < DOCUMENT_ID_MAX)
        r->upload.id = copy(r);
}

/* A '+' is a blank then. */
static int decode_keys(struct document_uploads *u, struct error *err) {
    for (size_t i = 0; i < u->count; i++) {
        for (char *c = u->items[i].key; *c != '\0'; c++)
            if (*c == '+')
                *c = ' ';
        if (percent_decode(u->items[i].key, err) != 0)
            return -1;
    }
    return 0;
}

int document_uploads_read(const char *document, size_t size, struct document_uploads *ret,
                          struct error *err) {
    *ret = (struct document_uploads){0};
    cleanup_free struct reading *r = calloc(1, sizeof(*r));
    ret->items = calloc(DOCUMENT_UPLOADS_MAX, sizeof(*ret->items));
    if (r == NULL || ret->items == NULL) {
        document_uploads_done(ret);
        return error_no_memory(err, "an answer");
    }
    r->element = take_upload;
    r->uploads = ret;
    int result = parse(r, document, size, err);
    forget(&r->upload);
    if (result == 0 && strcmp(r->root, "ListMultipartUploadsResult") != 0)
        result = error_set(err, EXIT_CODE_DATA, "the server's answer is a %.64s", r->root);
    if (result == 0 && r->encoded)
        result = decode_keys(ret, err);
    if (result != 0)
        document_uploads_done(ret);
    return result;
}
