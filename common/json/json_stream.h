/* Streaming JSON reader for files of any size.
 *
 * It reads value by value, in one pass.
 *
 * Annotation and result files of hundreds of megabytes need it. The file goes through a window of
 * about a megabyte, and memory does not grow with it. For small files that are wanted whole there
 * is json.h.
 *
 *     json_stream_open(&s, path, err)
 *     json_stream_object(&s, err);
 *     while ((more = json_stream_key(&s, &key, err)) == 1)
 *         if (json_text_is(&key, "id")) ... json_stream_integer(&s, &id, err) ...
 *         else json_stream_skip(&s, err);
 *
 * JSON is strict: no NaN, no Infinity, no comments, no trailing commas. Duplicate keys are not
 * detected here: the reader of the object sees both. Errors have EXIT_CODE_DATA and name the byte;
 * the caller, which knows what is being read, adds the file. After an error the stream cannot be
 * used any more. Not thread safe. */
#ifndef COMMON_JSON_JSON_STREAM_H
#define COMMON_JSON_JSON_STREAM_H

#include "common/error.h"
#include "common/json/json_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JSON_STREAM_WINDOW = 1024 * 1024,
    JSON_STREAM_STRING_MAX = 64 * 1024 * 1024, /* bytes of a string as written */
    JSON_STREAM_DEPTH_MAX = 64,
    JSON_STREAM_NUMBER_MAX = 512, /* characters of a number */
    JSON_STREAM_KEY_MAX = 256,    /* longer keys may come back cut */
};

struct json_stream {
    const char *at;  /* the next byte */
    const char *end; /* end of the window, where a NUL follows */
    char *window;    /* owned, and so is fd; NULL when reading from memory */
    size_t capacity;
    uint64_t offset; /* of the window's end, within the file */
    uint64_t opened; /* bit d: an item was read at depth d */
    int depth;
    int fd;
    char key[JSON_STREAM_KEY_MAX]; /* holds a key across a move of the window */
};

enum json_kind {
    JSON_KIND_END, /* end of the file */
    JSON_KIND_OBJECT,
    JSON_KIND_ARRAY,
    JSON_KIND_STRING,
    JSON_KIND_NUMBER,
    JSON_KIND_BOOL,
    JSON_KIND_NULL,
};

/* Opens PATH. The error names it. */
int json_stream_open(struct json_stream *s, const char *path, struct error *err);
/* Reads SIZE bytes, which must be followed by a NUL; the bytes are borrowed. */
void json_stream_memory(struct json_stream *s, const char *bytes, size_t size);
void json_stream_done(struct json_stream *s);

/* The kind of the next value, without reading it. */
int json_stream_kind(struct json_stream *s, enum json_kind *ret, struct error *err);

/* Enters an object or array. */
int json_stream_object(struct json_stream *s, struct error *err);
int json_stream_array(struct json_stream *s, struct error *err);

/* Reads the next key of the object. Returns 1; 0 at its end, which is consumed; -1 on failure. */
int json_stream_key(struct json_stream *s, struct json_text *ret, struct error *err);
/* Returns 1 if the array has another value; 0 at its end, which is consumed; -1 on failure. */
int json_stream_item(struct json_stream *s, struct error *err);

/* The number as the nearest double; an infinite one is an error. */
int json_stream_number(struct json_stream *s, double *ret, struct error *err);
/* A number without a fraction (1, 1.0 and 1e3 are such), exact. */
int json_stream_integer(struct json_stream *s, int64_t *ret, struct error *err);
int json_stream_bool(struct json_stream *s, bool *ret, struct error *err);
/* The string as written in the file; valid until the next call. */
int json_stream_text(struct json_stream *s, struct json_text *ret, struct error *err);
/* Skips a value of any kind. */
int json_stream_skip(struct json_stream *s, struct error *err);
/* Fails if anything but blanks follows. */
int json_stream_finish(struct json_stream *s, struct error *err);

/* The offset of the next byte from the start. */
uint64_t json_stream_tell(const struct json_stream *s);

/* Fills ERR with an error at the next byte, which names what was EXPECTED. */
int json_stream_error(const struct json_stream *s, struct error *err, const char *expected);

static inline void cleanup_json_stream_at(struct json_stream *s) {
    json_stream_done(s);
}
#define cleanup_json_stream __attribute__((cleanup(cleanup_json_stream_at)))

#endif
