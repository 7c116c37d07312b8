/* JSON through Jansson, with limits and strict about duplicate keys.
 *
 * Errors name file and key.
 *
 * Values are Jansson's (json_t); a "borrowed" result lives as long as its root. */
#ifndef COMMON_JSON_JSON_H
#define COMMON_JSON_JSON_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_FILE_MAX = 1024 * 1024, JSON_DEPTH_MAX = 32 };

/* Parses SIZE bytes, at most JSON_FILE_MAX: one value, no duplicate keys, no NUL inside strings,
 * nesting of at most JSON_DEPTH_MAX. SOURCE names it in errors. *RET_ROOT is owned by the caller.
 */
int json_parse(const char *bytes, size_t size, const char *source, json_t **ret_root,
               struct error *err);

/* json_parse with further decoding flags of Jansson's, such as JSON_ALLOW_NUL. */
int json_parse_as(const char *bytes, size_t size, const char *source, size_t flags,
                  json_t **ret_root, struct error *err);

/* json_parse for a file. If the file does not exist, the error has os_errno ENOENT. */
int json_read_file(const char *path, json_t **ret_root, struct error *err);

/* json_dumps with the shortest form of each number that reads back as the same value: 0.1 and not
 * 0.10000000000000001. The caller frees the text; NULL: out of memory. */
char *json_shortest(const json_t *value, size_t flags);

/* A string made of TEXT, whatever its bytes: JSON holds only UTF-8, so other bytes become U+FFFD.
 * NULL: out of memory. */
json_t *json_string_any(const char *text);

/* Appends VALUE, indented, followed by a newline. */
int json_add_text(const json_t *value, struct buf *ret, struct error *err);

/* Typed members of an OBJECT. If KEY is absent or null, *RET keeps its value and the function
 * returns 0. A value of another type is an error that names WHERE (the file) and KEY. Strings are
 * borrowed. */
int json_member_string(const json_t *object, const char *where, const char *key, const char **ret,
                       struct error *err);
int json_member_int(const json_t *object, const char *where, const char *key, int64_t *ret,
                    struct error *err);
int json_member_bool(const json_t *object, const char *where, const char *key, bool *ret,
                     struct error *err);
/* An array or object; *RET is borrowed, NULL if absent or null. */
int json_member_array(const json_t *object, const char *where, const char *key, json_t **ret,
                      struct error *err);
int json_member_object(const json_t *object, const char *where, const char *key, json_t **ret,
                       struct error *err);

static inline void cleanup_json_at(json_t **value) {
    json_decref(*value);
}
#define cleanup_json __attribute__((cleanup(cleanup_json_at)))

#endif
