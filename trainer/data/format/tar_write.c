#include "trainer/data/format/tar_write.h"

#include "common/str.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/format/tar_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 100, MODE_AT = 100, SIZE_AT = 124, TIME_AT = 136, SUM_AT = 148, TYPE_AT = 156 };
enum { MAGIC_AT = 257, PATH_ROOM = 3 * TAR_PATH_MAX };

static int add_padding(struct buf *out, size_t size, struct error *err) {
    static const char zeros[TAR_BLOCK];
    return buf_add(out, zeros, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK, err);
}

/* A header of ustar; of PATH, the first 100 bytes. */
static int add_header(struct buf *out, const char *path, uint64_t size, char type,
                      struct error *err) {
    char header[TAR_BLOCK] = "";
    unsigned sum = 0;
    (void)snprintf(header, NAME_SIZE + 1, "%s", path);
    (void)snprintf(header + MODE_AT, 8, "%07o", 0644U);
    (void)snprintf(header + MODE_AT + 8, 8, "%07o", 0U);
    (void)snprintf(header + MODE_AT + 16, 8, "%07o", 0U);
    (void)snprintf(header + SIZE_AT, 12, "%011" PRIo64, size);
    (void)snprintf(header + TIME_AT, 12, "%011o", 0U);
    memset(header + SUM_AT, ' ', 8);
    header[TYPE_AT] = type;
    memcpy(header + MAGIC_AT, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof(header); i++)
        sum += (unsigned char)header[i];
    (void)snprintf(header + SUM_AT, 8, "%06o", sum);
    return buf_add(out, header, sizeof(header), err);
}

/* The record "LENGTH path=PATH\n" of pax, where LENGTH counts itself. */
static int add_long_path(struct buf *out, const char *path, struct error *err) {
    char record[PATH_ROOM + 32];
    size_t size = strlen(path) + sizeof(" path=\n") - 1;
    size_t length = size + 1;
    for (size_t digits = 1, power = 10; digits < 8; digits++, power *= 10) {
        length = size + digits;
        if (length < power)
            break;
    }
    (void)snprintf(record, sizeof(record), "%zu path=%s\n", length, path);
    return add_header(out, "pax", length, 'x', err) != 0 || buf_add(out, record, length, err) != 0
               ? -1
               : add_padding(out, length, err);
}

static int add_member(struct buf *out, const char *path, const void *bytes, size_t size,
                      struct error *err) {
    if (strlen(path) > NAME_SIZE && add_long_path(out, path, err) != 0)
        return -1;
    return add_header(out, path, size, '0', err) != 0 || buf_add(out, bytes, size, err) != 0
               ? -1
               : add_padding(out, size, err);
}

/* Appends TEXT, in which "%" is always written as three bytes, and "." where it is not allowed. */
static size_t encode(char *to, size_t used, const char *text, size_t size, bool dots) {
    for (size_t i = 0; i < size && used + 4 < PATH_ROOM; i++) {
        const char *code = text[i] == '%' ? "%25" : text[i] == '.' && !dots ? "%2E" : NULL;
        if (code != NULL)
            memcpy(to + used, code, 3);
        else
            to[used] = text[i];
        used += code != NULL ? 3 : 1;
    }
    to[used] = '\0';
    return used;
}

/* The extension of the file's name, or else that of its content: names in other formats may have
 * none. */
static const char *extension_of(const char *file, const struct shard_record *record) {
    if (picture_suffix_ends(file) || str_ends_with(file, ".img"))
        return strrchr(file, '.');
    return picture_suffix_of(record->picture, record->size);
}

int tar_write_sample(struct buf *out, const struct shard_record *record, struct error *err) {
    char path[PATH_ROOM];
    char label[24];
    const char *slash = strrchr(record->name, '/');
    const char *file = slash != NULL ? slash + 1 : record->name;
    const char *extension = extension_of(file, record);
    const size_t stem = strlen(file) - (str_ends_with(file, extension) ? strlen(extension) : 0);
    size_t used = encode(path, 0, record->class_name, strlen(record->class_name), true);
    used = encode(path, used, "/", 1, true);
    used = encode(path, used, record->name, (size_t)(file - record->name), true);
    used = encode(path, used, file, stem, false);
    if (used + 32 + strlen(extension) > TAR_PATH_MAX)
        return error_set(err, EXIT_CODE_DATA, "%.100s: the path is too long for a tar file",
                         record->name);
    const size_t key = used;
    (void)encode(path, used, extension, strlen(extension), true);
    if (add_member(out, path, record->picture, record->size, err) != 0)
        return -1;
    (void)snprintf(path + key, sizeof(path) - key, ".cls");
    (void)snprintf(label, sizeof(label), "%" PRId64, record->label);
    return add_member(out, path, label, strlen(label), err);
}

int tar_write_end(struct buf *out, struct error *err) {
    static const char zeros[2 * TAR_BLOCK];
    return buf_add(out, zeros, sizeof(zeros), err);
}
