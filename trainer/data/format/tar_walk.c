#include "trainer/data/format/tar_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One header at a time, without following data: the walk jumps from header to header by the sizes
 * in them. Each header has a checksum, which is the only protection against going astray, so that
 * nothing of a header is used before it was verified.
 *
 * Long paths and large sizes are in extra members before the one that they describe. Two ways are
 * in use: GNU's, with a path as a member's data, and pax, with records of text. tar_walk_next
 * collects them until a member of its own kind comes.
 *
 * tar_shard.c and nested_tar_shard.c find samples with it, and trainer/data/archive/tar_extract.c
 * files. */

/* Places and sizes of a header's fields, in bytes (POSIX.1-2017, ustar Interchange Format). */
enum {
    NAME_AT = 0,
    NAME_SIZE = 100,
    SIZE_AT = 124,
    SIZE_SIZE = 12,
    SUM_AT = 148,
    SUM_SIZE = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_SIZE = 155,
};

/* Most bytes of a pax header, which is read whole. Usual ones have a few hundred. */
enum { PAX_MAX = 64 * 1024 };

/* What headers before a member say of it. A path is kept in the walk itself. */
struct extension {
    bool has_path;
    bool has_size;
    uint64_t size;
};

/* Data end at a multiple of 512 bytes, up to which they are padded. */
static uint64_t up_to_block(uint64_t size) {
    return (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

/* Parses an octal number, or GNU's base 256, which begins with a set bit. Returns false if it is
 * neither or above 2^62. Blanks may come first and last; an empty field is 0. */
static bool parse_number(const uint8_t *field, size_t size, uint64_t *ret) {
    uint64_t value = 0;
    size_t i = 0;
    if (field[0] == 0x80) {
        for (i = 1; i < size; i++) {
            if (value >> 54 != 0)
                return false;
            value = value << 8 | field[i];
        }
        *ret = value;
        return true;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0');
    *ret = value;
    return i == size || field[i] == ' ' || field[i] == '\0';
}

/* Returns true if the checksum is right: the sum of all bytes, with blanks in place of the sum
 * itself. Some writers added signed bytes, which is accepted as well. */
static bool sum_is_good(const uint8_t *header) {
    /* Both sums are below 2^18, so that they fit however they are added. */
    uint64_t given = 0;
    int64_t sum = 0;
    int64_t signed_sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        const uint8_t byte = i >= SUM_AT && i < SUM_AT + SUM_SIZE ? ' ' : header[i];
        sum += byte;
        signed_sum += (int8_t)byte;
    }
    return parse_number(header + SUM_AT, SUM_SIZE, &given) &&
           ((int64_t)given == sum || (int64_t)given == signed_sum);
}

/* A compressed archive is recognized in order to be refused in words of its own. */
static bool is_gzip(const uint8_t *bytes, size_t size) {
    return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Old archives have no magic number, so that the checksum decides. An archive without members,
 * which begins with zeros, is not taken for one. */
bool tar_walk_is(const uint8_t *bytes, size_t size) {
    return is_gzip(bytes, size) || (size >= TAR_BLOCK && bytes[0] != '\0' && sum_is_good(bytes));
}

/* A block of zeros ends an archive. The standard wants two of them; one is enough here. */
static bool is_zero(const uint8_t *header) {
    for (size_t i = 0; i < TAR_BLOCK; i++)
        if (header[i] != 0)
            return false;
    return true;
}

/* Sets the path from the header's fields: prefix, a slash, name. */
static void path_of_header(struct tar_walk *w, const uint8_t *header) {
    const char *name = (const char *)header + NAME_AT;
    const char *prefix = (const char *)header + PREFIX_AT;
    const int name_size = (int)strnlen(name, NAME_SIZE);
    /* GNU's own format ("ustar  ") has other fields where ustar has the prefix. */
    const bool ustar = memcmp(header + MAGIC_AT, "ustar", 6) == 0;
    const int prefix_size = ustar ? (int)strnlen(prefix, PREFIX_SIZE) : 0;
    (void)snprintf(w->path, sizeof(w->path), "%.*s%s%.*s", prefix_size, prefix,
                   prefix_size > 0 ? "/" : "", name_size, name);
}

/* Sets the path of the walk to SIZE bytes, which hold no NUL and fit. */
static int set_path(struct tar_walk *w, uint64_t header, const char *path, size_t size,
                    struct error *err) {
    if (size >= sizeof(w->path) || memchr(path, '\0', size) != NULL)
        return shard_file_bad(w->window->file, header, err,
                              "a path of %zu bytes, or with a NUL in it; at most %zu are allowed",
                              size, sizeof(w->path) - 1);
    memcpy(w->path, path, size);
    w->path[size] = '\0';
    return 0;
}

/* Reads a long name of GNU's: the data of a member, which usually ends with a NUL. */
static int read_long_name(struct tar_walk *w, const struct tar_member *m, struct extension *x,
                          struct error *err) {
    char path[TAR_PATH_MAX];
    if (m->size > sizeof(path))
        return shard_file_bad(w->window->file, m->header, err,
                              "a path of %" PRIu64 " bytes; at most %zu are allowed", m->size,
                              sizeof(path) - 1);
    if (shard_file_read(w->window->file, m->offset, path, (size_t)m->size, err) != 0)
        return -1;
    x->has_path = true;
    return set_path(w, m->header, path, strnlen(path, (size_t)m->size), err);
}

/* Reads one record, "LENGTH KEY=VALUE\n", which is at TEXT and within SIZE bytes. The length counts
 * the whole record, its own digits included. Keys other than path and size do not matter here, but
 * sparse files would have wrong sizes. */
static int read_pax_record(struct tar_walk *w, uint64_t header, const char *text, size_t size,
                           size_t *ret_length, struct extension *x, struct error *err) {
    size_t length = 0;
    size_t digits = 0;
    while (digits < size && digits < 6 && text[digits] >= '0' && text[digits] <= '9')
        length = length * 10 + (size_t)(text[digits++] - '0');
    const char *key = text + digits + 1;
    const char *equals =
        digits + 1 < length && length <= size ? memchr(key, '=', length - digits - 1) : NULL;
    if (digits == 0 || equals == NULL || text[digits] != ' ' || text[length - 1] != '\n')
        return shard_file_bad(w->window->file, header, err, "a pax header that is malformed");
    const size_t key_size = (size_t)(equals - key);
    const char *value = equals + 1;
    const size_t value_size = (size_t)(text + length - 1 - value);
    *ret_length = length;
    if (key_size == 4 && memcmp(key, "path", key_size) == 0) {
        x->has_path = true;
        return set_path(w, header, value, value_size, err);
    }
    if (key_size == 4 && memcmp(key, "size", key_size) == 0) {
        char number[24] = "";
        if (value_size == 0 || value_size >= sizeof(number) ||
            strspn(value, "0123456789") < value_size)
            return shard_file_bad(w->window->file, header, err, "a pax header with a bad size");
        memcpy(number, value, value_size);
        x->has_size = true;
        x->size = strtoull(number, NULL, 10);
    }
    if (key_size >= 11 && memcmp(key, "GNU.sparse.", 11) == 0)
        return shard_file_bad(w->window->file, header, err, "sparse files are not read");
    return 0;
}

/* Reads all records of a pax header. The last one of a key counts. */
static int read_pax(struct tar_walk *w, const struct tar_member *m, struct extension *x,
                    struct error *err) {
    if (m->size > PAX_MAX)
        return shard_file_bad(w->window->file, m->header, err,
                              "a pax header of %" PRIu64 " bytes; at most %d are allowed", m->size,
                              PAX_MAX);
    /* One byte more for a NUL, so that the parser may look at the byte after a record. */
    char *text = malloc((size_t)m->size + 1);
    if (text == NULL)
        return error_no_memory(err, "a tar header");
    int result = shard_file_read(w->window->file, m->offset, text, (size_t)m->size, err);
    text[m->size] = '\0';
    for (size_t at = 0, length = 0; result == 0 && at < m->size; at += length)
        result = read_pax_record(w, m->header, text + at, (size_t)m->size - at, &length, x, err);
    free(text);
    return result;
}

/* Reads one header, of a member or of an extension. Returns 1, 0 at the end, or -1. */
static int read_header(struct tar_walk *w, struct tar_member *ret, uint8_t *ret_type,
                       bool keep_path, struct error *err) {
    const struct shard_file *file = w->window->file;
    if (w->at == file->size)
        return 0; /* without the two blocks of zeros: a writer that was lenient */
    const uint8_t *header = shard_window_get(w->window, w->at, TAR_BLOCK, err);
    if (header == NULL)
        return -1;
    if (is_gzip(header, TAR_BLOCK))
        return shard_file_bad(file, w->at, err,
                              "compressed: samples cannot be found in it; unpack it with gunzip");
    if (is_zero(header))
        return 0;
    *ret = (struct tar_member){.path = w->path, .header = w->at, .offset = w->at + TAR_BLOCK};
    if (!sum_is_good(header) || !parse_number(header + SIZE_AT, SIZE_SIZE, &ret->size))
        return shard_file_bad(file, w->at, err,
                              "the checksum of a tar header is wrong: damaged, or not a tar file; "
                              "the samples from here on are not readable");
    *ret_type = header[TYPE_AT];
    if (!keep_path)
        path_of_header(w, header);
    return 1;
}

/* Fails if the data of a member goes beyond the file: that is where a download was cut off. */
static int check_size(struct tar_walk *w, const struct tar_member *m, struct error *err) {
    const uint64_t left = w->window->file->size - m->offset;
    return m->size <= left
               ? 0
               : shard_file_bad(w->window->file, m->header, err,
                                "the file ends within %s, of %" PRIu64 " bytes", w->path, m->size);
}

/* Extensions hold for the next member alone. A path that one of them has set is kept while the
 * member's own header is read; other fields of the header are taken. */
int tar_walk_next(struct tar_walk *w, struct tar_member *ret, struct error *err) {
    struct extension x = {0};
    for (;;) {
        uint8_t type = 0;
        int more = read_header(w, ret, &type, x.has_path, err);
        if (more != 1)
            return more;
        const bool extends = strchr("xgLK", type) != NULL && type != '\0';
        if (!extends && x.has_size)
            ret->size = x.size;
        if (check_size(w, ret, err) != 0)
            return -1;
        w->at = ret->offset + up_to_block(ret->size);
        if (w->at > w->window->file->size) /* the last block is not filled up */
            w->at = w->window->file->size;
        if (type == 'S')
            return shard_file_bad(w->window->file, ret->header, err, "sparse files are not read");
        /* Type 0 byte is a file of archives before ustar, 7 one that was contiguous on its disk. */
        ret->regular = type == '0' || type == '\0' || type == '7';
        if (!extends)
            return 1;
        /* Global headers ('g') and long names of links ('K') say nothing that matters here. */
        if ((type == 'x' && read_pax(w, ret, &x, err) != 0) ||
            (type == 'L' && read_long_name(w, ret, &x, err) != 0))
            return -1;
    }
}
