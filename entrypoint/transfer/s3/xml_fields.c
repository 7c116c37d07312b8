#include "entrypoint/transfer/s3/xml_fields.h"

#include "common/cleanup.h"
#include "common/str.h"
#include "entrypoint/transfer/http/percent.h"
#include "entrypoint/transfer/s3/xml.h"

#include <stdlib.h>
#include <string.h>

/* Each of the three readers below passes one callback to xml.h, which is called at the end of every
 * element with its name, depth and text. Elements are recognized by depth and name: the root is at
 * depth 1, its members at 2, and members of a repeated entry at 3. Anything unknown is skipped, as
 * servers add elements of their own. Namespaces are not looked at.
 *
 * Answers come from a server and are limited in every dimension: depth and text by xml.h, the
 * number of entries here. Entries beyond a limit are left out, not an error; their callers can do
 * with fewer. */

enum { NAME_MAX_SIZE = 64 }; /* of an element; a longer name is cut and matches nothing */

/* State of reading one document. It contains struct xml, which is too large for a stack. */
struct reading {
    struct xml xml;
    char root[NAME_MAX_SIZE]; /* the name of the root */
    char item[NAME_MAX_SIZE]; /* the current element below the root */
    const char *child;        /* name for xml_fields_text() */
    char *ret;
    size_t ret_size; /* with the NUL */
    bool found;      /* the child has occurred; later ones are ignored */
    struct xml_fields_uploads *uploads;
    struct xml_fields_upload upload; /* the entry that is being read */
    struct xml_fields_parts *parts;
    struct xml_fields_part part; /* likewise */
    bool truncated;              /* a further page of parts exists */
    bool encoded;                /* keys are URL-encoded */
};

static void keep_name(char ret[NAME_MAX_SIZE], const char *name) {
    size_t size = strlen(name);
    size = size < NAME_MAX_SIZE ? size : NAME_MAX_SIZE - 1;
    memcpy(ret, name, size);
    ret[size] = '\0';
}

/* Keeps the names of the root and of its current member for the callbacks at an element's end. */
static void on_begin(struct xml *x, const char *name) {
    struct reading *r = x->context;
    if (x->depth == 1)
        keep_name(r->root, name);
    else if (x->depth == 2)
        keep_name(r->item, name);
}

/* Returns memory to be freed with free(), or NULL with an error. END is called as in xml.h. */
static struct reading *reading_new(void (*end)(struct xml *x, const char *name),
                                   struct error *err) {
    struct reading *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        (void)error_no_memory(err, "an answer");
        return NULL;
    }
    r->xml.what = "the server's answer";
    r->xml.begin = on_begin;
    r->xml.end = end;
    r->xml.context = r;
    return r;
}

/* --- single text ------------------------------------------------------------------------------ */

/* Takes the first text of the wanted child of the root. A longer one is an error: cut IDs name
 * nothing. */
static void take_text(struct xml *x, const char *name) {
    struct reading *r = x->context;
    if (x->depth != 2 || r->found || strcmp(name, r->child) != 0)
        return;
    if (x->size >= r->ret_size) {
        xml_fail(x, "has a text that is too long");
        return;
    }
    memcpy(r->ret, x->text, x->size + 1);
    r->found = true;
}

/* An answer with another root is typically <Error>, which S3 may send with status 200; its name is
 * in the message. */
int xml_fields_text(const char *document, size_t size, const char *root, const char *child,
                    char *ret, size_t ret_size, struct error *err) {
    cleanup_free struct reading *r = reading_new(take_text, err);
    if (r == NULL)
        return -1;
    r->child = child;
    r->ret = ret;
    r->ret_size = ret_size;
    if (xml_read(&r->xml, document, size, err) != 0)
        return -1;
    if (r->found && strcmp(r->root, root) == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "the server's answer is a %.64s without %s", r->root,
                     child);
}

/* --- multipart uploads ------------------------------------------------------------------------ */

static void forget(struct xml_fields_upload *u) {
    free(u->key);
    free(u->id);
    *u = (struct xml_fields_upload){0};
}

void xml_fields_uploads_done(struct xml_fields_uploads *u) {
    for (size_t i = 0; i < u->count; i++)
        forget(&u->items[i]);
    free(u->items);
    *u = (struct xml_fields_uploads){0};
}

/* Ends one entry. An entry with a missing field is skipped: it may belong to something else, and is
 * not to be ended. */
static void end_upload(struct reading *r) {
    struct xml_fields_uploads *u = r->uploads;
    if (r->upload.key != NULL && r->upload.id != NULL && u->count < XML_FIELDS_UPLOADS_MAX) {
        u->items[u->count++] = r->upload;
        r->upload = (struct xml_fields_upload){0};
    }
    forget(&r->upload);
}

/* Collects key and ID of an entry, which ends with the element Upload at depth 2. The encoding is
 * named in the same document, before or after the keys, so they are decoded at the end. */
static void take_upload(struct xml *x, const char *name) {
    struct reading *r = x->context;
    if (x->depth == 2 && strcmp(name, "EncodingType") == 0)
        r->encoded = strcmp(x->text, "url") == 0;
    if (strcmp(r->item, "Upload") != 0)
        return;
    if (x->depth == 2)
        end_upload(r);
    else if (x->depth == 3 && strcmp(name, "Key") == 0 && r->upload.key == NULL)
        r->upload.key = xml_copy(x);
    else if (x->depth == 3 && strcmp(name, "UploadId") == 0 && r->upload.id == NULL &&
             x->size < XML_FIELDS_ID_MAX)
        r->upload.id = xml_copy(x);
}

/* A key that cannot be decoded makes the whole answer invalid. */
static int decode_keys(struct xml_fields_uploads *u, struct error *err) {
    for (size_t i = 0; i < u->count; i++)
        if (percent_decode_form(u->items[i].key, err) != 0)
            return -1;
    return 0;
}

/* The space for a full page is taken at once, so the callbacks need not grow it. An entry that was
 * begun when reading failed is freed here, the others by xml_fields_uploads_done. */
int xml_fields_uploads_read(const char *document, size_t size, struct xml_fields_uploads *ret,
                            struct error *err) {
    *ret = (struct xml_fields_uploads){0};
    cleanup_free struct reading *r = reading_new(take_upload, err);
    if (r == NULL)
        return -1;
    ret->items = calloc(XML_FIELDS_UPLOADS_MAX, sizeof(*ret->items));
    if (ret->items == NULL)
        return error_no_memory(err, "an answer");
    r->uploads = ret;
    int result = xml_read(&r->xml, document, size, err);
    forget(&r->upload);
    if (result == 0 && strcmp(r->root, "ListMultipartUploadsResult") != 0)
        result = error_set(err, EXIT_CODE_DATA, "the server's answer is a %.64s", r->root);
    if (result == 0 && r->encoded)
        result = decode_keys(ret, err);
    if (result != 0)
        xml_fields_uploads_done(ret);
    return result;
}

/* --- parts of an upload ----------------------------------------------------------------------- */

void xml_fields_parts_done(struct xml_fields_parts *p) {
    free(p->items);
    *p = (struct xml_fields_parts){0};
}

/* Returns 0, as for a missing number, for a text that is no number up to MOST. */
static int64_t number_of(const struct xml *x, int64_t most) {
    int64_t value = 0;
    return str_parse_int(x->text, 0, most, &value, NULL) == 0 ? value : 0;
}

/* Ends one part. An incomplete one is skipped: it would only be sent again. */
static void end_part(struct reading *r) {
    struct xml_fields_parts *p = r->parts;
    if (r->part.number > 0 && r->part.size > 0 && r->part.etag[0] != '\0' &&
        p->count < XML_FIELDS_PARTS_MAX)
        p->items[p->count++] = r->part;
    r->part = (struct xml_fields_part){0};
}

/* Takes one field of a part. ETags come with quotes from S3 and without them from some other
 * servers. */
static void take_part_text(struct reading *r, const struct xml *x, const char *name) {
    size_t quoted = x->size >= 2 && x->text[0] == '"' && x->text[x->size - 1] == '"' ? 1 : 0;
    size_t size = x->size - 2 * quoted;
    if (strcmp(name, "PartNumber") == 0)
        r->part.number = (unsigned)number_of(x, XML_FIELDS_NUMBER_MAX);
    else if (strcmp(name, "Size") == 0)
        r->part.size = number_of(x, INT64_MAX);
    else if (strcmp(name, "ETag") == 0 && size < sizeof(r->part.etag)) {
        memcpy(r->part.etag, x->text + quoted, size);
        r->part.etag[size] = '\0';
    }
}

/* The two members at depth 2 tell whether a next page exists, and where it begins. */
static void take_part(struct xml *x, const char *name) {
    struct reading *r = x->context;
    if (x->depth == 2 && strcmp(name, "IsTruncated") == 0)
        r->truncated = strcmp(x->text, "true") == 0;
    else if (x->depth == 2 && strcmp(name, "NextPartNumberMarker") == 0)
        r->parts->next = (unsigned)number_of(x, XML_FIELDS_NUMBER_MAX);
    else if (x->depth == 3 && strcmp(r->item, "Part") == 0)
        take_part_text(r, x, name);
    else if (x->depth == 2 && strcmp(name, "Part") == 0)
        end_part(r);
}

/* A marker without IsTruncated says nothing: the last page may carry one as well. */
int xml_fields_parts_read(const char *document, size_t size, struct xml_fields_parts *ret,
                          struct error *err) {
    *ret = (struct xml_fields_parts){0};
    cleanup_free struct reading *r = reading_new(take_part, err);
    if (r == NULL)
        return -1;
    ret->items = calloc(XML_FIELDS_PARTS_MAX, sizeof(*ret->items));
    if (ret->items == NULL)
        return error_no_memory(err, "an answer");
    r->parts = ret;
    int result = xml_read(&r->xml, document, size, err);
    if (result == 0 && strcmp(r->root, "ListPartsResult") != 0)
        result = error_set(err, EXIT_CODE_DATA, "the server's answer is a %.64s", r->root);
    if (!r->truncated)
        ret->next = 0;
    if (result != 0)
        xml_fields_parts_done(ret);
    return result;
}
