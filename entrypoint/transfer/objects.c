#include "transfer/objects.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "transfer/percent.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEPTH_MAX = 16, TEXT_MAX = 16 * 1024 };

struct reading {
    XML_Parser parser;
    struct objects *objects;
    struct error fault; /* code 0: none */
    unsigned depth;
    bool in_object;
    bool truncated;
    bool encoded; /* EncodingType is url */
    char text[TEXT_MAX];
    size_t size;
    char *key;
    char *etag;
    int64_t object_size;
    int64_t modified;
};

void objects_done(struct objects *l) {
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].key);
        free(l->items[i].etag);
    }
    free(l->items);
    *l = (struct objects){0};
}

static void stop(struct reading *r) {
    (void)XML_StopParser(r->parser, XML_FALSE);
}

static void fail(struct reading *r, const char *what) {
    if (r->fault.code == 0)
        (void)error_set(&r->fault, EXIT_CODE_DATA, "the listing %s", what);
    stop(r);
}

static void forget_object(struct reading *r) {
    free(r->key);
    free(r->etag);
    r->key = r->etag = NULL;
    r->object_size = -1;
    r->modified = 0;
}

static void on_begin(void *context, const XML_Char *name, const XML_Char **attributes) {
    struct reading *r = context;
    (void)attributes;
    if (++r->depth > DEPTH_MAX) {
        fail(r, "is nested too deep");
        return;
    }
    if (r->depth == 1 && strcmp(name, "ListBucketResult") != 0)
        fail(r, "is none: it does not begin with ListBucketResult");
    if (r->depth == 2 && strcmp(name, "Contents") == 0) {
        r->in_object = true;
        forget_object(r);
    }
    r->size = 0;
    r->text[0] = '\0';
}

static void on_text(void *context, const XML_Char *text, int size) {
    struct reading *r = context;
    if (r->size + (size_t)size >= TEXT_MAX) {
        fail(r, "has a text that is too long");
        return;
    }
    memcpy(r->text + r->size, text, (size_t)size);
    r->size += (size_t)size;
    r->text[r->size] = '\0';
}

static int grow(struct objects *l) {
    if (l->count < l->capacity)
        return 0;
    size_t capacity = l->capacity > 0 ? 2 * l->capacity : 256;
    struct object *items = realloc(l->items, capacity * sizeof(*items));
    if (items == NULL)
        return -1;
    l->items = items;
    l->capacity = capacity;
    return 0;
}

/* In a listing a '+' is a blank. */
static int decode(char *key) {
    for (char *c = key; *c != '\0'; c++)
        if (*c == '+')
            *c = ' ';
    return percent_decode(key, NULL);
}

static void end_object(struct reading *r) {
    struct objects *l = r->objects;
    r->in_object = false;
    if (r->key == NULL || r->key[0] == '\0' || r->object_size < 0)
        fail(r, "has an object without key or size");
    else if (l->count >= OBJECTS_MAX)
        fail(r, "has more than a million objects: pack them into larger files, please");
    else if (grow(l) != 0)
        fail(r, "does not fit into memory");
    else
        l->items[l->count++] = (struct object){.key = TAKE_PTR(r->key),
                                               .etag = TAKE_PTR(r->etag),
                                               .size = r->object_size,
                                               .modified = r->modified};
}

static char *take_text(struct reading *r) {
    char *copy = strdup(r->text);
    if (copy == NULL)
        fail(r, "does not fit into memory");
    return copy;
}

static char *take_etag(struct reading *r) {
    size_t size = r->size;
    if (size >= 2 && r->text[0] == '"' && r->text[size - 1] == '"') {
        memmove(r->text, r->text + 1, size - 2);
        r->text[size - 2] = '\0';
    }
    if (size > OBJECTS_ETAG_MAX)
        r->text[0] = '\0';
    return take_text(r);
}

/* "2026-11-23T00:10:00.000Z"; what is no such time is none. */
static int64_t read_time(const char *text) {
    struct tm parts = {0};
    return strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) != NULL ? (int64_t)timegm(&parts) : 0;
}

static void end_of_object(struct reading *r, const char *name) {
    if (strcmp(name, "Key") == 0 && r->key == NULL)
        r->key = take_text(r);
    else if (strcmp(name, "ETag") == 0 && r->etag == NULL)
        r->etag = take_etag(r);
    else if (strcmp(name, "LastModified") == 0)
        r->modified = read_time(r->text);
    else if (strcmp(name, "Size") == 0 &&
             str_parse_int(r->text, 0, INT64_MAX, &r->object_size, NULL) != 0)
        fail(r, "has a size that is no number");
}

static void end_of_page(struct reading *r, const char *name) {
    if (strcmp(name, "IsTruncated") == 0)
        r->truncated = strcmp(r->text, "true") == 0;
    else if (strcmp(name, "EncodingType") == 0)
        r->encoded = strcmp(r->text, "url") == 0;
    else if (strcmp(name, "NextContinuationToken") == 0 && r->size < OBJECTS_TOKEN_MAX)
        memcpy(r->objects->token, r->text, r->size + 1);
}

static void on_end(void *context, const XML_Char *name) {
    struct reading *r = context;
    if (r->depth == 3 && r->in_object)
        end_of_object(r, name);
    else if (r->depth == 2 && r->in_object)
        end_object(r);
    else if (r->depth == 2)
        end_of_page(r, name);
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

static int parse(struct reading *r, const char *text, size_t size) {
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_begin, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
    if (XML_Parse(r->parser, text, (int)size, 1) != XML_STATUS_OK && r->fault.code == 0)
        (void)error_set(&r->fault, EXIT_CODE_DATA, "the listing is no XML: %s at line %lu",
                        XML_ErrorString(XML_GetErrorCode(r->parser)),
                        (unsigned long)XML_GetCurrentLineNumber(r->parser));
    if (r->fault.code == 0 && r->truncated && r->objects->token[0] == '\0')
        fail(r, "goes on, but does not say where");
    return r->fault.code == 0 ? 0 : -1;
}

static int decode_keys(const struct reading *r, size_t from, struct error *err) {
    for (size_t i = from; r->encoded && i < r->objects->count; i++)
        if (decode(r->objects->items[i].key) != 0)
            return error_set(err, EXIT_CODE_DATA, "the listing has a key that is not encoded");
    return 0;
}

int objects_add_page(struct objects *l, const char *text, size_t size, struct error *err) {
    if (size > OBJECTS_PAGE_MAX)
        return error_set(err, EXIT_CODE_DATA, "the listing has more than %d bytes a page",
                         OBJECTS_PAGE_MAX);
    struct reading *r = calloc(1, sizeof(*r));
    size_t from = l->count;
    if (r == NULL)
        return error_no_memory(err, "a listing");
    r->objects = l;
    l->token[0] = '\0';
    r->parser = XML_ParserCreate("UTF-8");
    int result = r->parser != NULL ? parse(r, text, size) : error_no_memory(err, "a listing");
    if (r->fault.code != 0 && err != NULL)
        *err = r->fault;
    if (result == 0)
        result = decode_keys(r, from, err);
    if (result == 0 && !r->truncated)
        l->token[0] = '\0';
    forget_object(r);
    XML_ParserFree(r->parser);
    free(r);
    return result;
}
