#include "common/json/json.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/str.h"

#include <stdlib.h>
#include <string.h>

/* Documents are checked in the order of cost: size, depth, byte order mark, and only then Jansson's
 * parser. All of them may come from other hosts or from files of a user, so errors name the place
 * but never quote a value, which may be secret.
 *
 * The typed readers (json_member_*) share one rule: a member that is absent or null leaves the
 * caller's default alone, and a member of another type is an error. So a typing mistake is never
 * read as "not set". */

/* Jansson's own depth limit (2,048) guards the parser's stack; this one guards our own recursion.
 * It scans the text before parsing, so a hostile file is refused at no cost. */
static bool too_deep(const char *bytes, size_t size) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSON_DEPTH_MAX)
                return true;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return false;
}

/* How many bytes of Jansson's error text may be shown. Jansson quotes the document, which may hold
 * a secret, so the quote is left out unless it is a name. */
static int shown_size(const json_error_t *detail) {
    const char *quote = strstr(detail->text, " near '");
    if (quote == NULL || json_error_code(detail) == json_error_duplicate_key)
        return (int)strlen(detail->text);
    return (int)(quote - detail->text);
}

/* Jansson would report a byte order mark as an invalid token at line 1; editors on Windows write
 * it, so it has a message of its own. */
int json_parse_as(const char *bytes, size_t size, const char *source, size_t flags,
                  json_t **ret_root, struct error *err) {
    if (size > JSON_FILE_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%s: more than %d bytes", source, JSON_FILE_MAX);
    if (too_deep(bytes, size))
        return error_set(err, EXIT_CODE_CONFIG, "%s: nested deeper than %d", source,
                         JSON_DEPTH_MAX);
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: begins with a byte order mark (BOM); save it as UTF-8 without one",
                         source);
    json_error_t detail;
    json_t *root =
        json_loadb(bytes, size, flags | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &detail);
    if (root == NULL)
        return error_set(err, EXIT_CODE_CONFIG, "%s:%d:%d: %.*s", source, detail.line,
                         detail.column, shown_size(&detail), detail.text);
    *ret_root = root;
    return 0;
}

/* The strict form, for all documents with texts that become C strings: a NUL inside one is an
 * error. */
int json_parse(const char *bytes, size_t size, const char *source, json_t **ret_root,
               struct error *err) {
    return json_parse_as(bytes, size, source, 0, ret_root, err);
}

/* A missing or unreadable file is a fault of the configuration, whereas file_read() calls it a
 * fault of the data. */
int json_read_file(const char *path, json_t **ret_root, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, JSON_FILE_MAX);
    if (file_read(path, &text, err) != 0)
        return error_recode(err, EXIT_CODE_CONFIG);
    return json_parse(buf_text(&text), text.size, path, ret_root, err);
}

/* Tries 15, 16 and 17 digits. An IEEE double survives 15 digits of text at least sometimes and 17
 * always, so the last step needs no check. Each try parses the whole document again: this is for
 * texts of some kilobytes. */
char *json_shortest(const json_t *value, size_t flags) {
    enum { ALWAYS_EXACT = 17 };
    for (size_t digits = ALWAYS_EXACT - 2; digits < ALWAYS_EXACT; digits++) {
        char *text = json_dumps(value, flags | JSON_REAL_PRECISION(digits));
        json_t *again =
            text != NULL ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
        bool same = json_equal(again, value) == 1;
        json_decref(again);
        if (same)
            return text;
        free(text);
    }
    return json_dumps(value, flags);
}

/* json_string() checks the bytes and returns NULL for text that is not UTF-8; only that rare case
 * takes the copy, in which each bad byte may become three. */
json_t *json_string_any(const char *text) {
    json_t *value = json_string(text);
    cleanup_buf struct buf valid;
    buf_init(&valid, 3 * strlen(text) + 1);
    if (value == NULL && str_add_utf8(&valid, text, strlen(text), NULL) == 0)
        value = json_string(buf_text(&valid));
    return value;
}

/* Two spaces for each level, as in files that people read: plans, tables and state files. */
int json_add_text(const json_t *value, struct buf *ret, struct error *err) {
    cleanup_free char *text = json_dumps(value, JSON_INDENT(2));
    if (text == NULL)
        return error_no_memory(err, "JSON");
    return buf_add_text(ret, text, err) == 0 ? buf_add(ret, "\n", 1, err) : -1;
}

/* The type of VALUE with its article, as error messages name it. JSON's two kinds of numbers are
 * one for readers. */
static const char *type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

/* The member KEY, NULL if absent or null. Absent and null are the same to all callers. Jansson
 * returns borrowed references here. */
static json_t *member_of(const json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value) ? NULL : value;
}

/* Names the type that is there and the one that is WANTED, but not the value. */
static int wrong_type(const json_t *value, const char *where, const char *key, const char *wanted,
                      struct error *err) {
    return error_set(err, EXIT_CODE_CONFIG, "%s: \"%s\" is %s, not %s", where, key,
                     type_name(value), wanted);
}

/* The text belongs to OBJECT. Numbers are not turned into strings: a document that has 1 for "1" is
 * refused. */
int json_member_string(const json_t *object, const char *where, const char *key, const char **ret,
                       struct error *err) {
    json_t *value = member_of(object, key);
    if (value == NULL)
        return 0;
    if (!json_is_string(value))
        return wrong_type(value, where, key, "a string", err);
    *ret = json_string_value(value);
    return 0;
}

/* 1.0 is a real to Jansson and is refused. Programs that exchange whole numbers write them without
 * a point. */
int json_member_int(const json_t *object, const char *where, const char *key, int64_t *ret,
                    struct error *err) {
    json_t *value = member_of(object, key);
    if (value == NULL)
        return 0;
    if (!json_is_integer(value))
        return wrong_type(value, where, key, "a whole number", err);
    *ret = json_integer_value(value);
    return 0;
}

/* 0 and 1 are numbers and are refused. */
int json_member_bool(const json_t *object, const char *where, const char *key, bool *ret,
                     struct error *err) {
    json_t *value = member_of(object, key);
    if (value == NULL)
        return 0;
    if (!json_is_boolean(value))
        return wrong_type(value, where, key, "true or false", err);
    *ret = json_is_true(value);
    return 0;
}

/* Unlike the readers of plain values, this one and the next always set *RET: an absent member
 * becomes NULL, over which Jansson's loops make no step. */
int json_member_array(const json_t *object, const char *where, const char *key, json_t **ret,
                      struct error *err) {
    json_t *value = member_of(object, key);
    if (value != NULL && !json_is_array(value))
        return wrong_type(value, where, key, "an array", err);
    *ret = value;
    return 0;
}

int json_member_object(const json_t *object, const char *where, const char *key, json_t **ret,
                       struct error *err) {
    json_t *value = member_of(object, key);
    if (value != NULL && !json_is_object(value))
        return wrong_type(value, where, key, "an object", err);
    *ret = value;
    return 0;
}
