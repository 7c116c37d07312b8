#include "trainer/data/archive/zip.h"

#include "common/binary/little_endian.h"
#include "common/cleanup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Reads an archive from its end, as the format wants: the end record tells the place of the central
 * directory, and its entries are the members. Local headers are not looked at here. zip_extract.c
 * reads that of one member when its content is wanted.
 *
 * The archive is foreign: trainer/data/prepare/unzip.c opens what a user or a download brought.
 * Every length from the file is compared with the bytes that are left before it is used. A lie is
 * an error and never a read beyond a buffer. Paths are taken as they are; member_path.c judges
 * them. */

enum {
    END_SIZE = 22,           /* of the end record, without its comment */
    END_COMMENT = 65535,     /* longest comment */
    END64_LOCATOR = 20,      /* bytes; lies directly before the end record */
    END64_SIZE = 56,         /* without the extensible data that may follow */
    ENTRY_SIZE = 46,         /* of the central directory, without names */
    DIRECTORY_MAX = 1 << 30, /* bytes; the directory is read as one block */
    EXTRA_ZIP64 = 1,         /* tag of the extra field with 64-bit sizes */
};

/* Ceiling of all 64-bit fields, in bytes: no real archive comes near, and sums of a few such
 * numbers cannot overflow. */
#define SIZE_LIMIT (UINT64_C(1) << 48)

static const uint32_t end_magic = 0x06054b50, end64_magic = 0x06064b50, locator_magic = 0x07064b50,
                      entry_magic = 0x02014b50;

static uint16_t u16(const uint8_t *p) {
    return (uint16_t)little_endian_get(p, 2);
}

static uint32_t u32(const uint8_t *p) {
    return (uint32_t)little_endian_get(p, 4);
}

static uint64_t u64(const uint8_t *p) {
    return little_endian_get(p, 8);
}

void zip_done(struct zip *zip) {
    shard_file_done(&zip->file);
    free(zip->members);
    free(zip->paths);
    *zip = (struct zip)ZIP_CLOSED;
}

/* Place of the central directory, in bytes, and its number of entries. */
struct directory {
    uint64_t offset;
    uint64_t size;
    uint64_t count;
};

/* Sets the error for malformed content at byte AT; WHAT says what is wrong there. */
static int refuse(const struct shard_file *file, uint64_t at, const char *what, struct error *err) {
    return shard_file_bad(file, at, err, "%s: not a zip archive, or a damaged one", what);
}

/* Replaces what the end record at END says by what its ZIP64 form says. Without a locator directly
 * before END there is no such form, and *D stays as it is. */
static int read_end64(const struct shard_file *file, uint64_t end, struct directory *d,
                      struct error *err) {
    uint8_t locator[END64_LOCATOR];
    uint8_t bytes[END64_SIZE];
    if (end < END64_LOCATOR)
        return 0;
    if (shard_file_read(file, end - END64_LOCATOR, locator, sizeof(locator), err) != 0)
        return -1;
    if (u32(locator) != locator_magic)
        return 0;
    const uint64_t at = u64(locator + 8);
    if (shard_file_read(file, at, bytes, sizeof(bytes), err) != 0)
        return -1;
    if (u32(bytes) != end64_magic)
        return refuse(file, at, "no ZIP64 end record", err);
    *d = (struct directory){
        .count = u64(bytes + 32), .size = u64(bytes + 40), .offset = u64(bytes + 48)};
    return 0;
}

/* Finds the end record, which is the last thing in the file but for a comment of unknown length.
 * The search goes backwards, so that the magic number inside an earlier member is not taken for it.
 * A comment longer than the rest of the file rules a place out. */
static int find_end(const struct shard_file *file, struct directory *ret, struct error *err) {
    const uint64_t room = END_SIZE + END_COMMENT;
    const size_t size = file->size < room ? (size_t)file->size : (size_t)room;
    const uint64_t start = file->size - size;
    cleanup_free uint8_t *bytes = malloc(size + 1);
    if (bytes == NULL)
        return error_no_memory(err, "a zip archive");
    if (shard_file_read(file, start, bytes, size, err) != 0)
        return -1;
    /* `at` counts down to 0; for a file shorter than the record there is no place at all. */
    for (size_t at = size < END_SIZE ? 0 : size - END_SIZE + 1; at-- > 0;) {
        const uint8_t *p = bytes + at;
        if (u32(p) != end_magic || at + END_SIZE + u16(p + 20) > size)
            continue;
        *ret = (struct directory){.count = u16(p + 10), .size = u32(p + 12), .offset = u32(p + 16)};
        return read_end64(file, start + at, ret, err);
    }
    return refuse(file, file->size, "no end record", err);
}

/* Takes the 64-bit sizes from the extra field where the 32-bit ones are full. The fields that are
 * present have the order of APPNOTE 4.5.3: size, packed size, offset of the header. Other extra
 * fields are skipped. Returns false if a field is cut off. */
static bool take_extra(struct zip_member *m, const uint8_t *extra, size_t size) {
    uint64_t *const fields[] = {&m->size, &m->packed, &m->header};
    while (size >= 4) {
        const size_t length = u16(extra + 2);
        if (length > size - 4)
            return false;
        const uint8_t *p = extra + 4;
        for (size_t i = 0, left = length; i < 3 && u16(extra) == EXTRA_ZIP64; i++) {
            if (*fields[i] != UINT32_MAX)
                continue;
            if (left < 8)
                return false;
            *fields[i] = u64(p);
            p += 8;
            left -= 8;
        }
        extra += 4 + length;
        size -= 4 + length;
    }
    return true;
}

/* Parses the entry at *AT of the SIZE bytes of the directory, which begins at START of the file,
 * and moves *AT to the next one. A file becomes a member, with its path at *PATHS, which moves
 * after the NUL; a folder becomes none. */
static int take_entry(struct zip *zip, const uint8_t *bytes, size_t size, size_t *at, char **paths,
                      uint64_t start, struct error *err) {
    const uint8_t *p = bytes + *at;
    const uint64_t place = start + *at; /* in the file */
    if (size - *at < ENTRY_SIZE || u32(p) != entry_magic)
        return refuse(&zip->file, place, "an entry of the directory is malformed", err);
    const size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
    struct zip_member m = {.flags = u16(p + 8),
                           .method = u16(p + 10),
                           .crc = u32(p + 16),
                           .packed = u32(p + 20),
                           .size = u32(p + 24),
                           .header = u32(p + 42)};
    if (name + extra + comment > size - *at - ENTRY_SIZE ||
        !take_extra(&m, p + ENTRY_SIZE + name, extra))
        return refuse(&zip->file, place, "an entry of the directory is cut off", err);
    *at += ENTRY_SIZE + name + extra + comment;
    if (m.size > SIZE_LIMIT || m.packed > SIZE_LIMIT || m.header > SIZE_LIMIT)
        return refuse(&zip->file, place, "a size beyond all files", err);
    if (memchr(p + ENTRY_SIZE, '\0', name) != NULL)
        return refuse(&zip->file, place, "a name with a NUL", err);
    if (name == 0 || p[ENTRY_SIZE + name - 1] == '/')
        return 0; /* a folder */
    memcpy(*paths, p + ENTRY_SIZE, name);
    m.path = *paths;
    (*paths)[name] = '\0';
    *paths += name + 1;
    zip->members[zip->count++] = m;
    return 0;
}

/* Reads the directory into one block and makes the members from it. The count is checked against
 * the size in bytes before memory is asked for, so that a small file cannot demand a large table.
 * An entry is longer than its path with a NUL: the paths fit into as many bytes as the directory
 * has. */
static int read_directory(struct zip *zip, const struct directory *d, struct error *err) {
    if (d->size > DIRECTORY_MAX || d->count > ZIP_MEMBERS_MAX || d->count > d->size / ENTRY_SIZE)
        return shard_file_bad(&zip->file, d->offset, err,
                              "a directory of %" PRIu64 " files in %" PRIu64
                              " bytes; expected at most %d in %d",
                              d->count, d->size, ZIP_MEMBERS_MAX, DIRECTORY_MAX);
    const size_t size = (size_t)d->size;
    cleanup_free uint8_t *bytes = malloc(size + 1);
    zip->members = calloc((size_t)d->count + 1, sizeof(*zip->members));
    zip->paths = malloc(size + 1);
    if (bytes == NULL || zip->members == NULL || zip->paths == NULL)
        return error_no_memory(err, "the directory of a zip archive");
    if (shard_file_read(&zip->file, d->offset, bytes, size, err) != 0)
        return -1;
    char *paths = zip->paths;
    size_t at = 0;
    for (uint64_t i = 0; i < d->count; i++)
        if (take_entry(zip, bytes, size, &at, &paths, d->offset, err) != 0)
            return -1;
    return 0;
}

int zip_open(struct zip *ret, const char *path, struct error *err) {
    struct directory d = {0};
    *ret = (struct zip)ZIP_CLOSED;
    if (shard_file_open(&ret->file, path, err) == 0 && find_end(&ret->file, &d, err) == 0 &&
        read_directory(ret, &d, err) == 0)
        return 0;
    zip_done(ret);
    return -1;
}
