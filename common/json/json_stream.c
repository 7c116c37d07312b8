#include "common/json/json_stream.h"

#include "common/json/json_number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file is seen through a window: `at` moves over it, and refill() moves the rest to its start
 * and reads on. All functions that take a value leave `at` after it, so that the reader needs no
 * tree and no stack of its own except two bits of state.
 *
 * The state of an open object or array is its depth, and for each depth a bit in `opened` that says
 * whether a comma has to come before the next item. This is what limits the depth to 64. Whether it
 * is an object or an array is known to the caller, which calls json_stream_key() or
 * json_stream_item().
 *
 * A string, a number or a word is only looked at when all of it lies in the window. Strings are
 * handed out as written, with their escapes, so nothing is copied or allocated for a value. */

uint64_t json_stream_tell(const struct json_stream *s) {
    return s->offset - (uint64_t)(s->end - s->at);
}

int json_stream_error(const struct json_stream *s, struct error *err, const char *expected) {
    return error_set(err, EXIT_CODE_DATA, "byte %" PRIu64 ": %s", json_stream_tell(s), expected);
}

/* O_NONBLOCK keeps open() from waiting for the writer of a FIFO, which is refused afterwards. One
 * byte more than the capacity is allocated for the NUL after the window: json_number_read() stops
 * there. */
int json_stream_open(struct json_stream *s, const char *path, struct error *err) {
    *s = (struct json_stream){.capacity = JSON_STREAM_WINDOW};
    s->window = malloc(s->capacity + 1);
    if (s->window == NULL)
        return error_no_memory(err, "a window on a JSON file");
    s->window[0] = '\0';
    s->at = s->end = s->window;
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (s->fd < 0 || fstat(s->fd, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: not a regular file", path);
    return 0;
}

/* Without a window, refill() finds the end of the text at once. */
void json_stream_memory(struct json_stream *s, const char *bytes, size_t size) {
    *s = (struct json_stream){.at = bytes, .end = bytes + size, .offset = size};
}

/* Safe after a failed json_stream_open(), and on a zeroed stream, where fd 0 is not its own: only a
 * stream with a window has a descriptor. */
void json_stream_done(struct json_stream *s) {
    if (s->window != NULL && s->fd >= 0)
        close(s->fd);
    free(s->window);
    *s = (struct json_stream){0};
}

/* Reads more of the file and keeps the bytes from s->at on. Returns 1 if there are more now, 0 at
 * the end of the file, -1 on failure. The window doubles while more than half of it is kept, which
 * only a long string causes. The limit on strings bounds its growth against a file that never
 * closes one. Pointers into the window are invalid afterwards. */
static int refill(struct json_stream *s, struct error *err) {
    if (s->window == NULL)
        return 0;
    size_t kept = (size_t)(s->end - s->at);
    if (kept > JSON_STREAM_STRING_MAX)
        return json_stream_error(s, err, "a string is too long");
    memmove(s->window, s->at, kept);
    if (kept > s->capacity / 2) {
        /* Bytes rather than items, with one more for the zero: not a case for grow_array. */
        char *grown = realloc(s->window, 2 * s->capacity + 1);
        if (grown == NULL)
            return error_no_memory(err, "a window on a JSON file");
        s->window = grown;
        s->capacity *= 2;
    }
    ssize_t got;
    do
        got = read(s->fd, s->window + kept, s->capacity - kept);
    while (got < 0 && errno == EINTR);
    s->at = s->window;
    s->end = s->window + kept + (got > 0 ? got : 0);
    s->window[s->end - s->window] = '\0';
    if (got < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "reading on");
    s->offset += (uint64_t)got;
    return got > 0;
}

/* Skips blanks. Returns the next byte, -1 at the end of the file, or -2 after an error. These four
 * bytes are all that JSON allows between tokens (RFC 8259, section 2). */
static int next_byte(struct json_stream *s, struct error *err) {
    for (;;) {
        while (s->at < s->end &&
               (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
            s->at++;
        if (s->at < s->end)
            return (unsigned char)*s->at;
        int more = refill(s, err);
        if (more <= 0)
            return more < 0 ? -2 : -1;
    }
}

/* Refuses NEXT, a byte or -1 for the end. The end has a message of its own, because a file that was
 * cut off is the most usual fault. */
static int unexpected(const struct json_stream *s, int next, const char *expected,
                      struct error *err) {
    return next != -1 ? json_stream_error(s, err, expected)
                      : error_set(err, EXIT_CODE_DATA, "byte %" PRIu64 ": %s, but the text ends",
                                  json_stream_tell(s), expected);
}

/* Consumes the byte C; if another byte is there, the error names what was EXPECTED. Every
 * structural byte goes through here, so blanks are allowed before each of them. */
static int take(struct json_stream *s, char c, const char *expected, struct error *err) {
    int next = next_byte(s, err);
    if (next == -2)
        return -1;
    if (next != c)
        return unexpected(s, next, expected, err);
    s->at++;
    return 0;
}

/* Anything that begins no other value is called a number, so that the error arises where the value
 * is read and names what the reader expected. */
int json_stream_kind(struct json_stream *s, enum json_kind *ret, struct error *err) {
    int next = next_byte(s, err);
    if (next == -2)
        return -1;
    *ret = next == -1                   ? JSON_KIND_END
           : next == '{'                ? JSON_KIND_OBJECT
           : next == '['                ? JSON_KIND_ARRAY
           : next == '"'                ? JSON_KIND_STRING
           : next == 't' || next == 'f' ? JSON_KIND_BOOL
           : next == 'n'                ? JSON_KIND_NULL
                                        : JSON_KIND_NUMBER;
    return 0;
}

/* The bit of the new depth may still be set by an earlier list of the same depth. */
static int enter(struct json_stream *s, struct error *err) {
    if (s->depth == JSON_STREAM_DEPTH_MAX - 1)
        return json_stream_error(s, err, "nested too deeply");
    s->depth++;
    s->opened &= ~(UINT64_C(1) << s->depth);
    return 0;
}

int json_stream_object(struct json_stream *s, struct error *err) {
    return take(s, '{', "expected an object", err) == 0 ? enter(s, err) : -1;
}

int json_stream_array(struct json_stream *s, struct error *err) {
    return take(s, '[', "expected a list", err) == 0 ? enter(s, err) : -1;
}

/* Moves between the items of the open array or object. Returns 1 before another item, 0 after
 * CLOSER, -1 on failure. A comma before the closer passes here and fails in the caller: neither a
 * key nor a value begins with the closer. */
static int next_item(struct json_stream *s, char closer, struct error *err) {
    uint64_t bit = UINT64_C(1) << s->depth;
    int next = next_byte(s, err);
    if (next == -2)
        return -1;
    if (next == closer) {
        s->at++;
        s->depth--;
        return 0;
    }
    if ((s->opened & bit) != 0) {
        if (next != ',')
            return unexpected(s, next, closer == '}' ? "expected , or }" : "expected , or ]", err);
        s->at++;
    }
    s->opened |= bit;
    return 1;
}

int json_stream_item(struct json_stream *s, struct error *err) {
    return next_item(s, ']', err);
}

/* The key lies in the window, which the search for the colon may move. In nearly all files the
 * colon follows at once; otherwise the key is kept in the stream, cut at JSON_STREAM_KEY_MAX
 * bytes. */
int json_stream_key(struct json_stream *s, struct json_text *ret, struct error *err) {
    int more = next_item(s, '}', err);
    if (more != 1)
        return more;
    if (json_stream_text(s, ret, err) != 0)
        return -1;
    if (s->at < s->end && *s->at == ':') {
        s->at++;
        return 1;
    }
    ret->size = ret->size < sizeof(s->key) ? ret->size : sizeof(s->key);
    memcpy(s->key, ret->bytes, ret->size);
    ret->bytes = s->key;
    return take(s, ':', "expected :", err) == 0 ? 1 : -1;
}

/* Ensures that a number or word lies in the window as a whole. Numbers have no closing mark, so
 * that one at the end of the window may continue in the file. Up to JSON_STREAM_NUMBER_MAX bytes
 * are read ahead, or all that is left. */
static int whole_word(struct json_stream *s, struct error *err) {
    if (next_byte(s, err) == -2)
        return -1;
    while (s->end - s->at <= JSON_STREAM_NUMBER_MAX) {
        int more = refill(s, err);
        if (more <= 0)
            return more;
    }
    return 0;
}

/* A number longer than the limit could lie in the window only in part, and its value would then be
 * wrong without notice. */
static int read_number(struct json_stream *s, struct json_number *ret, struct error *err) {
    if (whole_word(s, err) != 0)
        return -1;
    const char *end = json_number_read(s->at, ret);
    if (end == NULL || end - s->at > JSON_STREAM_NUMBER_MAX)
        return json_stream_error(s, err, "expected a number");
    s->at = end;
    return 0;
}

/* A number that no double holds is refused by json_number_read(). */
int json_stream_number(struct json_stream *s, double *ret, struct error *err) {
    struct json_number number;
    if (read_number(s, &number, err) != 0)
        return -1;
    *ret = number.value;
    return 0;
}

/* The message says "before this", because the number is consumed by then. */
int json_stream_integer(struct json_stream *s, int64_t *ret, struct error *err) {
    struct json_number number;
    if (read_number(s, &number, err) != 0)
        return -1;
    if (!number.is_integer)
        return json_stream_error(s, err, "expected a whole number before this");
    *ret = number.integer;
    return 0;
}

/* Does not look at the byte after WORD: "truex" fails at the next item, which needs a comma or a
 * closer. */
static bool take_word(struct json_stream *s, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0)
        return false;
    s->at += size;
    return true;
}

int json_stream_bool(struct json_stream *s, bool *ret, struct error *err) {
    if (whole_word(s, err) != 0)
        return -1;
    bool value = take_word(s, "true");
    if (!value && !take_word(s, "false"))
        return json_stream_error(s, err, "expected true or false");
    *ret = value;
    return 0;
}

/* SIZE counts from s->at, and not from the window's start, because refill() moves what is kept. A
 * backslash and the byte after it are stepped over as a pair, so an escaped quote does not end the
 * string. Escapes are not checked here (json_text.h). */
int json_stream_text(struct json_stream *s, struct json_text *ret, struct error *err) {
    if (take(s, '"', "expected a string", err) != 0)
        return -1;
    bool escaped = false;
    size_t size = 0;
    for (;;) {
        const char *at = s->at + size;
        while (at < s->end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ')
            at++;
        size = (size_t)(at - s->at);
        bool cut = at == s->end || (*at == '\\' && at + 1 == s->end);
        if (cut) {
            int more = refill(s, err);
            if (more <= 0)
                return more < 0 ? -1 : json_stream_error(s, err, "a string without an end");
        } else if (*at == '"') {
            break;
        } else if (*at == '\\') {
            escaped = true;
            size += 2;
        } else {
            return json_stream_error(s, err, "a control character in a string");
        }
    }
    if (size > JSON_STREAM_STRING_MAX)
        return json_stream_error(s, err, "a string is too long");
    *ret = (struct json_text){.bytes = s->at, .size = size, .escaped = escaped};
    s->at += size + 1;
    return 0;
}

/* Skips one scalar, or the opening bracket of an array or object. The texts and numbers are read as
 * if they were wanted, so that a skipped part is checked, too. */
static int skip_value(struct json_stream *s, enum json_kind kind, struct error *err) {
    struct json_text text;
    double number;
    bool flag;
    switch (kind) {
    case JSON_KIND_END:
        return json_stream_error(s, err, "the file ends within a value");
    case JSON_KIND_OBJECT:
        return json_stream_object(s, err);
    case JSON_KIND_ARRAY:
        return json_stream_array(s, err);
    case JSON_KIND_STRING:
        return json_stream_text(s, &text, err);
    case JSON_KIND_NUMBER:
        return json_stream_number(s, &number, err);
    case JSON_KIND_BOOL:
        return json_stream_bool(s, &flag, err);
    case JSON_KIND_NULL:
        if (whole_word(s, err) != 0)
            return -1;
        return take_word(s, "null") ? 0 : json_stream_error(s, err, "expected null");
    }
    return -1;
}

/* Uses no recursion, so that hostile nesting costs no stack. OUTSIDE is the depth to return to; the
 * loop body takes one item or closer each time. The stack of kinds is the bits of `objects`, as
 * deep as JSON_STREAM_DEPTH_MAX. */
int json_stream_skip(struct json_stream *s, struct error *err) {
    int outside = s->depth;
    uint64_t objects = 0; /* bit d: the container at depth d is an object */
    do {
        int before = s->depth;
        if (before > outside) {
            struct json_text key;
            bool object = ((objects >> before) & 1) != 0;
            int more = object ? json_stream_key(s, &key, err) : json_stream_item(s, err);
            if (more < 0)
                return -1;
            if (more == 0)
                continue;
        }
        enum json_kind kind = JSON_KIND_END;
        if (json_stream_kind(s, &kind, err) != 0 || skip_value(s, kind, err) != 0)
            return -1;
        if (s->depth > before)
            objects = (objects & ~(UINT64_C(1) << s->depth)) |
                      ((uint64_t)(kind == JSON_KIND_OBJECT) << s->depth);
    } while (s->depth > outside);
    return 0;
}

/* Two documents in one file, or the rest of an older and longer one, are noticed here. */
int json_stream_finish(struct json_stream *s, struct error *err) {
    int next = next_byte(s, err);
    if (next == -2)
        return -1;
    return next == -1 ? 0 : json_stream_error(s, err, "expected the end of the file");
}
