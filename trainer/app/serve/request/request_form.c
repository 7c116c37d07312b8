#include "trainer/app/serve/request/request_form.h"

#include "common/json/json_stream.h"
#include "trainer/app/serve/request/base64.h"

#include <string.h>
#include <strings.h>

/* Everything read here comes from a client and may be hostile. Sizes are bounded before: the
 * library of HTTP limits headers, and the server a body (server_body). Nothing is copied without a
 * ceiling: a string without its escapes and a decoded picture are both smaller than the body that
 * they come from.
 *
 * JSON is read as a stream, and each picture is handed over as soon as its string is complete. A
 * tree of the whole document would hold all pictures in base64 at once. Keys that are not known are
 * skipped, as clients may send more than one server understands; a known key that appears twice is
 * an error, since two readers could choose differently. */

/* Returns the length of the media type at TEXT, without parameters and blanks. A ',' ends it as
 * well, as it begins the next range of an Accept header. */
static size_t type_length(const char *text) {
    return strcspn(text, "; \t,");
}

/* Compares a media type without its parameters; case does not matter (RFC 9110, section 8.3.1). */
static bool type_is(const char *text, const char *type) {
    const size_t length = type_length(text);
    return length == strlen(type) && strncasecmp(text, type, length) == 0;
}

/* Formats of pictures are not distinguished: the decoder looks at the bytes. application/x-image is
 * SageMaker's own type for either. */
enum request_content request_content_of(const char *type) {
    static const char *const pictures[] = {"image/jpeg", "image/jpg", "image/png",
                                           "application/x-image", "application/octet-stream"};
    if (type == NULL)
        return REQUEST_UNKNOWN;
    type += strspn(type, " \t");
    for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++)
        if (type_is(type, pictures[i]))
            return REQUEST_PICTURE;
    return type_is(type, "application/json") ? REQUEST_JSON : REQUEST_UNKNOWN;
}

/* Returns true if one of the parameters up to END is TEXT, a "name=value". The search for a ';' may
 * run past END, up to the header's NUL, but nothing there is compared. */
static bool has_parameter(const char *at, const char *end, const char *text) {
    const size_t length = strlen(text);
    while (at < end) {
        at += strcspn(at, ";");
        if (at >= end)
            return false;
        at++;
        at += strspn(at, " \t");
        if (at + length <= end && strncasecmp(at, text, length) == 0 &&
            (at + length == end || strchr("; \t", at[length]) != NULL))
            return true;
    }
    return false;
}

/* Goes through the comma-separated ranges of the header. Weights do not matter, as there is one
 * form of an answer, except q=0, by which a client rules a type out. */
bool request_accepts_json(const char *accept, bool *ret_masks) {
    bool suits = accept == NULL || accept[strspn(accept, " \t")] == '\0';
    *ret_masks = false;
    while (accept != NULL && *accept != '\0') {
        accept += strspn(accept, " \t,");
        const char *end = accept + strcspn(accept, ",");
        const bool refused = has_parameter(accept, end, "q=0");
        if (!refused && (type_is(accept, "application/json") || type_is(accept, "*/*") ||
                         type_is(accept, "application/*"))) {
            suits = true;
            *ret_masks |= has_parameter(accept, end, "masks=true");
        }
        accept = end;
    }
    return suits;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* State of the reading of one body; one picture at a time is in the buffers. */
struct instances {
    const struct request_pictures *pictures;
    struct buf text;  /* a string without its escapes */
    struct buf bytes; /* of a picture */
    size_t count;
};

/* Decodes one picture's string and hands it over. Escapes are rare in base64 ("\/" is one that some
 * encoders write), so the string is copied only if it has any. */
static int take_text(struct instances *in, const struct json_text *text, struct error *err) {
    struct json_text plain = *text;
    if (text->escaped) {
        in->text.size = 0;
        if (json_text_add(text, &in->text, err) != 0)
            return -1;
        plain = (struct json_text){in->text.data, in->text.size, false};
    }
    in->bytes.size = 0;
    if (base64_add(&in->bytes, plain.bytes, plain.size, err) != 0)
        return -1;
    return in->pictures->take(in->pictures->user, in->count, (const uint8_t *)buf_text(&in->bytes),
                              in->bytes.size, err);
}

/* Reads {"b64": ...}. Returns 0, or -1 with an error; MORE is 0 after the last key and -1 after an
 * error of the stream. */
static int read_instance(struct instances *in, struct json_stream *s, struct error *err) {
    struct json_text key, text;
    bool found = false;
    int more;
    if (json_stream_object(s, err) != 0)
        return -1;
    while ((more = json_stream_key(s, &key, err)) == 1) {
        if (!json_text_is(&key, "b64")) {
            if (json_stream_skip(s, err) != 0)
                return -1;
            continue;
        }
        if (found)
            return error_set(err, EXIT_CODE_DATA, "\"b64\" appears twice");
        found = true;
        if (json_stream_text(s, &text, err) != 0 || take_text(in, &text, err) != 0)
            return -1;
    }
    if (more == 0 && !found)
        return error_set(err, EXIT_CODE_DATA,
                         "no \"b64\"; expected {\"b64\": \"a picture in base64\"}");
    return more;
}

static int read_instances(struct instances *in, struct json_stream *s, struct error *err) {
    int more;
    if (json_stream_array(s, err) != 0)
        return error_wrap(err, "\"instances\"");
    while ((more = json_stream_item(s, err)) == 1) {
        if (in->count == REQUEST_INSTANCES_MAX)
            return error_set(err, EXIT_CODE_DATA,
                             "more than %d instances in a request; send them in several",
                             REQUEST_INSTANCES_MAX);
        if (read_instance(in, s, err) != 0)
            return error_wrap(err, "instance %zu", in->count);
        in->count++;
    }
    return more;
}

/* Reads the document up to its end: bytes after the closing brace are an error as well. The order
 * of keys does not matter. */
static int read_object(struct instances *in, struct json_stream *s, struct error *err) {
    struct json_text key;
    bool found = false;
    int more;
    if (json_stream_object(s, err) != 0)
        return -1;
    while ((more = json_stream_key(s, &key, err)) == 1) {
        const bool wanted = json_text_is(&key, "instances");
        if (wanted && found)
            return error_set(err, EXIT_CODE_DATA, "\"instances\" appears twice");
        found |= wanted;
        if ((wanted ? read_instances(in, s, err) : json_stream_skip(s, err)) != 0)
            return -1;
    }
    if (more != 0 || json_stream_finish(s, err) != 0)
        return -1;
    return in->count > 0
               ? 0
               : error_set(err, EXIT_CODE_DATA,
                           "%s; expected {\"instances\": [{\"b64\": \"a picture in base64\"}]}",
                           found ? "\"instances\" is empty" : "no \"instances\"");
}

/* BODY is read in place; the NUL after it (buf_text) is not part of the document. */
static int read_json(const struct buf *body, const struct request_pictures *pictures,
                     struct error *err) {
    struct instances in = {.pictures = pictures};
    cleanup_json_stream struct json_stream s;
    /* The ceilings: neither form of a string is longer than the body. */
    buf_init(&in.text, body->size + 1);
    buf_init(&in.bytes, body->size + 1);
    json_stream_memory(&s, buf_text(body), body->size);
    const int result = read_object(&in, &s, err);
    buf_done(&in.text);
    buf_done(&in.bytes);
    return result;
}

/* An empty body is refused here for all types: a decoder's message about a truncated file would
 * mislead. */
int request_read(enum request_content content, const struct buf *body,
                 const struct request_pictures *pictures, struct error *err) {
    if (body->size == 0)
        return error_set(err, EXIT_CODE_DATA, "the body is empty; expected a picture");
    if (content == REQUEST_JSON)
        return read_json(body, pictures, err);
    return pictures->take(pictures->user, 0, (const uint8_t *)body->data, body->size, err);
}
