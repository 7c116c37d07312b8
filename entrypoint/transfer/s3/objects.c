#include "entrypoint/transfer/s3/objects.h"

#include "common/cleanup.h"
#include "common/grow.h"
#include "common/str.h"
#include "entrypoint/transfer/http/percent.h"
#include "entrypoint/transfer/s3/xml.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct reading {
    struct xml xml;
    struct objects *objects;
    bool in_object;
    bool truncated;
    bool encoded; /* the answer has EncodingType url */
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

static void forget_object(struct reading *r) {
    free(r->key);
    free(r->etag);
    r->key = r->etag = NULL;
    r->object_size = -1;
    r->modified = 0;
}

static void on_begin(struct xml *x, const char *name) {
    struct reading *r = x->context;
    if (x->depth == 1 && strcmp(name, "ListBucketResult") != 0)
        xml_fail(x, "is none: it does not begin with ListBucketResult");
    if (x->depth == 2 && strcmp(name, "Contents") == 0) {
        r->in_object = true;
        forget_object(r);
    }
}

static int grow(struct objects *l) {
    return grow_array(&l->items, &l->capacity, l->count + 1, sizeof(*l->items), "", NULL);
}

static void end_object(struct reading *r) {
    struct objects *l = r->objects;
    r->in_object = false;
    if (r->key == NULL || r->key[0] == '\0' || r->object_size < 0)
        xml_fail(&r->xml, "has an object without key or size");
    else if (l->count >= OBJECTS_MAX)
        xml_fail(&r->xml, "has more than a million objects: pack them into larger files, please");
    else if (grow(l) != 0)
        xml_fail(&r->xml, "does not fit into memory");
    else
        l->items[l->count++] = (struct object){.key = TAKE_PTR(r->key),
                                               .etag = TAKE_PTR(r->etag),
                                               .size = r->object_size,
                                               .modified = r->modified};
}

static char *take_etag(struct reading *r) {
    size_t size = r->xml.size;
    if (size >= 2 && r->xml.text[0] == '"' && r->xml.text[size - 1] == '"') {
        memmove(r->xml.text, r->xml.text + 1, size - 2);
        r->xml.text[size - 2] = '\0';
    }
    if (size > OBJECTS_ETAG_MAX)
        r->xml.text[0] = '\0';
    return xml_copy(&r->xml);
}

/* Parses "2026-11-23T00:10:00.000Z"; any other text gives the time 0. */
static int64_t read_time(const char *text) {
    struct tm parts = {0};
    return strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) != NULL ? (int64_t)timegm(&parts) : 0;
}

static void end_of_object(struct reading *r, const char *name) {
    if (strcmp(name, "Key") == 0 && r->key == NULL)
        r->key = xml_copy(&r->xml);
    else if (strcmp(name, "ETag") == 0 && r->etag == NULL)
        r->etag = take_etag(r);
    else if (strcmp(name, "LastModified") == 0)
        r->modified = read_time(r->xml.text);
    else if (strcmp(name, "Size") == 0 &&
             str_parse_int(r->xml.text, 0, INT64_MAX, &r->object_size, NULL) != 0)
        xml_fail(&r->xml, "has a size that is no whole number of bytes");
}

static void end_of_page(struct reading *r, const char *name) {
    if (strcmp(name, "IsTruncated") == 0)
        r->truncated = strcmp(r->xml.text, "true") == 0;
    else if (strcmp(name, "EncodingType") == 0)
        r->encoded = strcmp(r->xml.text, "url") == 0;
    else if (strcmp(name, "NextContinuationToken") == 0 && r->xml.size < OBJECTS_TOKEN_MAX)
        memcpy(r->objects->token, r->xml.text, r->xml.size + 1);
}

static void on_end(struct xml *x, const char *name) {
    struct reading *r = x->context;
    if (x->depth == 3 && r->in_object)
        end_of_object(r, name);
    else if (x->depth == 2 && r->in_object)
        end_object(r);
    else if (x->depth == 2)
        end_of_page(r, name);
}

static int decode_keys(const struct reading *r, size_t from, struct error *err) {
    for (size_t i = from; r->encoded && i < r->objects->count; i++)
        if (percent_decode_form(r->objects->items[i].key, NULL) != 0)
            return error_set(err, EXIT_CODE_DATA, "the listing has a key that is not encoded");
    return 0;
}

int objects_add_page(struct objects *l, const char *text, size_t size, struct error *err) {
    if (size > OBJECTS_PAGE_MAX)
        return error_set(err, EXIT_CODE_DATA, "the listing has more than %d bytes a page",
                         OBJECTS_PAGE_MAX);
    cleanup_free struct reading *r = calloc(1, sizeof(*r));
    size_t from = l->count;
    if (r == NULL)
        return error_no_memory(err, "a listing");
    r->xml.what = "the listing";
    r->xml.begin = on_begin;
    r->xml.end = on_end;
    r->xml.context = r;
    r->objects = l;
    l->token[0] = '\0';
    int result = xml_read(&r->xml, text, size, err);
    if (result == 0 && r->truncated && l->token[0] == '\0')
        result = error_set(err, EXIT_CODE_DATA, "the listing continues, but does not say where");
    if (result == 0)
        result = decode_keys(r, from, err);
    if (result == 0 && !r->truncated)
        l->token[0] = '\0';
    forget_object(r);
    return result;
}
