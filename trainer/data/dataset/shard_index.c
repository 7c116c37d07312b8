#include "trainer/data/dataset/shard_index.h"

#include "common/binary/little_endian.h"
#include "common/cleanup.h"
#include "common/crc32c.h"
#include "common/file/file.h"
#include "trainer/data/dataset/folder.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* An index is taken only if everything about it is right: head, sections, counts, and the shards
 * that are there now. Whatever is wrong has its own words, as shards.c tells the user why a scan is
 * needed. Nothing of a damaged index is used in part.
 *
 * Reading checks in the order of trust. Checksums come first and find accidents. Counts and places
 * are then checked against the bytes that are there, as if the file were hostile: checksums are
 * easily made to fit (tests/fuzz/fuzz_shard_index.c). The ends of the shards are read only once
 * the sections are right, as they cost a seek in each shard.
 *
 * shard_index_pack works on rows as a scan left them, before shards.c settles classes and order, so
 * that an index does not depend on options. */

#define MAGIC "RTIX"
#define SUFFIX ".rtix"

enum { VERSION = 1, FORMAT_NAME = 16, END_BYTES = 4096 };
enum { SECTION_SHARDS, SECTION_ROWS, SECTION_TEXTS, SECTIONS };

/* Places in the head, in bytes. Sizes of structs are not relied on: the file is the same on all
 * machines. */
enum { AT_VERSION = 4, AT_FORMAT = 8, AT_SHARDS = 24, AT_CLASSES = 28, AT_SAMPLES = 32 };
enum { AT_PATHED = 40, AT_SECTIONS = 48, SECTION_SIZE = 16, AT_CRC = 96 };

/* Most bytes of a whole index: enough for the rows of FOLDER_SAMPLES_MAX samples, and for all names
 * that shard_rows.c accepts. */
static const size_t index_max = (size_t)24 << 30;

/* Returns the name without its folder. Shards may lie in another folder on each host. */
static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Returns the length of what the names of all shards begin with, without digits and signs at its
 * end. A single shard keeps its whole name. 0: they have nothing in common. */
static size_t common_part(const struct shard_list *files) {
    const char *first = name_of(files->paths[0]);
    size_t size = strlen(first);
    for (size_t i = 1; i < files->count; i++) {
        const char *other = name_of(files->paths[i]);
        size_t same = 0;
        while (same < size && other[same] == first[same])
            same++;
        size = same;
    }
    while (files->count > 1 && size > 0 && !isalpha((unsigned char)first[size - 1]))
        size--;
    return size;
}

/* The list has at least one shard. Names with nothing in common, such as numbers alone, give
 * "shards.rtix". */
int shard_index_path(const struct shard_list *files, char path[4096], struct error *err) {
    const char *first = files->paths[0];
    const char *name = name_of(first);
    const size_t part = common_part(files);
    const int length =
        snprintf(path, 4096, "%.*s%.*s" SUFFIX, (int)(name - first), first,
                 part > 0 ? (int)part : (int)strlen("shards"), part > 0 ? name : "shards");
    return length > 0 && length < 4096
               ? 0
               : error_set(err, EXIT_CODE_USAGE, "%.64s...: path too long", first);
}

/* --- the ends of the shards ------------------------------------------------------------------ */

/* Sets *RET to the checksum of SIZE bytes (at most END_BYTES) from AT on. */
static int end_crc(const struct shard_file *file, uint64_t at, size_t size, uint32_t *ret,
                   struct error *err) {
    uint8_t bytes[END_BYTES];
    if (shard_file_read(file, at, bytes, size, err) != 0)
        return -1;
    *ret = crc32c(0, bytes, size);
    return 0;
}

/* Describes the shard at PATH as it is now: its size and the checksums of its two ends, which
 * overlap in a short one. A time of modification would be simpler, but copies and downloads change
 * it. */
static int stamp(const char *path, uint8_t ret[SHARD_INDEX_STAMP], struct error *err) {
    cleanup_shard_file struct shard_file file = SHARD_FILE_CLOSED;
    uint32_t first = 0, last = 0;
    if (shard_file_open(&file, path, err) != 0)
        return -1;
    /* The file may be shorter than an end: both are then the whole of it. */
    const size_t size = file.size < END_BYTES ? (size_t)file.size : END_BYTES;
    if (end_crc(&file, 0, size, &first, err) != 0 ||
        end_crc(&file, file.size - size, size, &last, err) != 0)
        return -1;
    little_endian_put(ret, file.size, 8);
    little_endian_put(ret + 8, first, 4);
    little_endian_put(ret + 12, last, 4);
    return 0;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Appends the stamp of each shard, in the order of the list. */
static int pack_shards(struct buf *out, const struct shard_list *files, struct error *err) {
    for (size_t i = 0; i < files->count; i++) {
        uint8_t bytes[SHARD_INDEX_STAMP];
        if (stamp(files->paths[i], bytes, err) != 0 || buf_add(out, bytes, sizeof(bytes), err) != 0)
            return -1;
    }
    return 0;
}

/* Appends all rows. A picture of 4 GiB and more, or a label of more than 31 bits, does not fit; the
 * set then has no index, which is no fault of it. */
static int pack_rows(struct buf *out, const struct shard_rows *rows, struct error *err) {
    for (size_t i = 0; i < rows->count; i++) {
        const struct shard_row *row = &rows->items[i];
        uint8_t bytes[SHARD_INDEX_ROW];
        if (row->picture_bytes > UINT32_MAX || row->label > INT32_MAX)
            return error_set(err, EXIT_CODE_DATA, "a sample that an index cannot hold");
        little_endian_put(bytes, row->place.offset, 8);
        little_endian_put(bytes + 8, row->id, 8);
        little_endian_put(bytes + 16, row->place.bytes, 4);
        little_endian_put(bytes + 20, row->picture_bytes, 4);
        little_endian_put(bytes + 24, row->place.shard, 4);
        little_endian_put(bytes + 28, (uint64_t)row->class_name, 4);
        little_endian_put(bytes + 32, (uint64_t)row->label, 4);
        if (buf_add(out, bytes, sizeof(bytes), err) != 0)
            return -1;
    }
    return 0;
}

/* Appends the names of the shards, of the classes by their numbers, and of the samples. The last
 * are copied as one block: rows were added in their order, each with its NUL. */
static int pack_texts(struct buf *out, const struct shard_rows *rows,
                      const struct shard_list *files, struct error *err) {
    for (size_t i = 0; i < files->count; i++) {
        const char *name = name_of(files->paths[i]);
        if (buf_add(out, name, strlen(name) + 1, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < rows->classes.count; i++)
        if (buf_add(out, rows->classes.names[i], strlen(rows->classes.names[i]) + 1, err) != 0)
            return -1;
    return buf_add(out, rows->names.data, rows->names.size, err);
}

/* Enters the section from BEGIN to the end into the head: its size and checksum. Sections have no
 * offsets, as each begins where the one before it ends. */
static void close_section(struct buf *out, int section, size_t begin) {
    uint8_t *at = (uint8_t *)out->data + AT_SECTIONS + section * SECTION_SIZE;
    little_endian_put(at, out->size - begin, 8);
    little_endian_put(at + 8, crc32c(0, out->data + begin, out->size - begin), 4);
}

/* The head goes in first, with zeros for what is known only later, and is completed in place. Its
 * own checksum comes last, over all bytes before it. */
int shard_index_pack(struct buf *out, const struct shard_rows *rows, const struct shard_list *files,
                     struct error *err) {
    /* All fields that are not set below stay 0, padding of the format's name included. */
    uint8_t head[SHARD_INDEX_HEAD] = MAGIC;
    little_endian_put(head + AT_VERSION, VERSION, 4);
    (void)snprintf((char *)head + AT_FORMAT, FORMAT_NAME, "%s", files->format->name);
    little_endian_put(head + AT_SHARDS, files->count, 4);
    little_endian_put(head + AT_CLASSES, rows->classes.count, 4);
    little_endian_put(head + AT_SAMPLES, rows->count, 8);
    little_endian_put(head + AT_PATHED, rows->pathed, 8);
    buf_consume(out, out->size);
    out->max = index_max;
    if (buf_reserve(out, sizeof(head) + rows->count * SHARD_INDEX_ROW + rows->names.size, err) !=
            0 ||
        buf_add(out, head, sizeof(head), err) != 0 || pack_shards(out, files, err) != 0)
        return -1;
    close_section(out, SECTION_SHARDS, sizeof(head));
    size_t begin = out->size;
    if (pack_rows(out, rows, err) != 0)
        return -1;
    close_section(out, SECTION_ROWS, begin);
    begin = out->size;
    if (pack_texts(out, rows, files, err) != 0)
        return -1;
    close_section(out, SECTION_TEXTS, begin);
    little_endian_put(out->data + AT_CRC, crc32c(0, out->data, AT_CRC), 4);
    return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

/* The bytes of an index with a right head and right checksums. Sections point into the caller's
 * memory. */
struct unpacking {
    const uint8_t *sections[SECTIONS];
    size_t sizes[SECTIONS];
    size_t shards, classes, samples, pathed;
    const char *text; /* what of the texts has not been taken yet */
    size_t left;
};

/* Sets the error for an index that is not as one is written. The caller adds the path. */
static int damaged(const char *what, struct error *err) {
    return error_set(err, EXIT_CODE_DATA, "damaged (%s)", what);
}

/* Finds the sections, which must fill the file without a gap, and checks their sums. Counts and
 * sizes are not trusted: each is held against the bytes that are there. The numbers of shards and
 * samples are bounded by then, and products with them cannot overflow. */
static int check_sizes(struct unpacking *u, const uint8_t *bytes, size_t size, struct error *err) {
    size_t at = SHARD_INDEX_HEAD;
    for (int i = 0; i < SECTIONS; i++) {
        const uint8_t *entry = bytes + AT_SECTIONS + i * SECTION_SIZE;
        const uint64_t length = little_endian_get(entry, 8);
        if (length > size - at)
            return damaged("it ends early", err);
        u->sections[i] = bytes + at;
        u->sizes[i] = (size_t)length;
        at += (size_t)length;
        if (crc32c(0, u->sections[i], u->sizes[i]) != little_endian_get(entry + 8, 4))
            return damaged("the checksum of a section is wrong", err);
    }
    if (at != size)
        return damaged("bytes beyond its end", err);
    if (u->samples == 0 || u->samples > FOLDER_SAMPLES_MAX || u->pathed > u->samples ||
        u->sizes[SECTION_SHARDS] != u->shards * SHARD_INDEX_STAMP ||
        u->sizes[SECTION_ROWS] != u->samples * SHARD_INDEX_ROW)
        return damaged("its counts do not fit its sections", err);
    u->text = (const char *)u->sections[SECTION_TEXTS];
    u->left = u->sizes[SECTION_TEXTS];
    return 0;
}

/* Magic number and checksum come before the version: a file that is no index should not be called
 * one of another version. */
static int read_head(struct unpacking *u, const uint8_t *bytes, size_t size,
                     const struct shard_list *files, struct error *err) {
    if (size < SHARD_INDEX_HEAD || memcmp(bytes, MAGIC, strlen(MAGIC)) != 0)
        return error_set(err, EXIT_CODE_DATA,
                         "no index of shards; expected a file that `prepare` has written");
    if (crc32c(0, bytes, AT_CRC) != little_endian_get(bytes + AT_CRC, 4))
        return damaged("the checksum of its head is wrong", err);
    const uint64_t version = little_endian_get(bytes + AT_VERSION, 4);
    if (version != VERSION)
        return error_set(err, EXIT_CODE_DATA, "of version %" PRIu64 "; expected %d", version,
                         VERSION);
    *u = (struct unpacking){
        .shards = (size_t)little_endian_get(bytes + AT_SHARDS, 4),
        .classes = (size_t)little_endian_get(bytes + AT_CLASSES, 4),
        .samples = (size_t)little_endian_get(bytes + AT_SAMPLES, 8),
        .pathed = (size_t)little_endian_get(bytes + AT_PATHED, 8),
    };
    if (strncmp((const char *)bytes + AT_FORMAT, files->format->name, FORMAT_NAME) != 0)
        return error_set(err, EXIT_CODE_DATA, "of shards of the format %.16s; expected %s",
                         (const char *)bytes + AT_FORMAT, files->format->name);
    return check_sizes(u, bytes, size, err);
}

/* Returns the next text, or NULL if none is left. It points into the section, where it has its
 * NUL. */
static const char *take_text(struct unpacking *u) {
    const char *text = u->text;
    const char *end = u->left > 0 ? memchr(text, '\0', u->left) : NULL;
    if (end == NULL)
        return NULL;
    u->left -= (size_t)(end - text) + 1;
    u->text = end + 1;
    return text;
}

/* Compares names, order and stamps with the shards that are there. Takes the shards' names from the
 * texts, so that those of the classes come next. */
static int check_shards(struct unpacking *u, const struct shard_list *files, struct error *err) {
    if (u->shards != files->count)
        return error_set(err, EXIT_CODE_DATA, "of %zu shards; expected %zu", u->shards,
                         files->count);
    for (size_t i = 0; i < files->count; i++) {
        uint8_t now[SHARD_INDEX_STAMP];
        const char *name = take_text(u);
        if (name == NULL)
            return damaged("a name is missing", err);
        if (strcmp(name, name_of(files->paths[i])) != 0)
            return error_set(err, EXIT_CODE_DATA, "it has the shard %.200s; expected %.200s", name,
                             name_of(files->paths[i]));
        if (stamp(files->paths[i], now, err) != 0)
            return -1;
        if (memcmp(now, u->sections[SECTION_SHARDS] + i * SHARD_INDEX_STAMP, sizeof(now)) != 0)
            return error_set(err, EXIT_CODE_DATA, "stale: %.200s has changed since", name);
    }
    return 0;
}

/* Enters the classes' names, which get the numbers 0, 1 and so on. A name that occurs twice would
 * get the earlier number, and all later ones would be off by one. */
static int read_classes(struct shard_rows *rows, struct unpacking *u, struct error *err) {
    for (size_t i = 0; i < u->classes; i++) {
        const char *name = take_text(u);
        int32_t number = -1;
        if (name == NULL || name[0] == '\0')
            return damaged("a name is missing", err);
        if (name_table_number(&rows->classes, name, strlen(name), &number, err) != 0)
            return -1;
        if ((size_t)number != i)
            return damaged("a class twice", err);
    }
    return 0;
}

/* Reads one row and checks that its shard and class exist and its record lies within the shard.
 * Later readers use these numbers as indices. */
static int read_row(struct shard_row *row, const uint8_t *bytes, const struct unpacking *u,
                    struct error *err) {
    *row = (struct shard_row){
        .place = {little_endian_get(bytes, 8), (uint32_t)little_endian_get(bytes + 16, 4),
                  (uint32_t)little_endian_get(bytes + 24, 4)},
        .id = little_endian_get(bytes + 8, 8),
        .picture_bytes = little_endian_get(bytes + 20, 4),
        .class_name = (int32_t)little_endian_get(bytes + 28, 4),
        .label = (int32_t)little_endian_get(bytes + 32, 4),
    };
    if (row->place.shard >= u->shards || row->class_name < -1 ||
        row->class_name >= (int64_t)u->classes || row->label < SHARD_NO_LABEL)
        return damaged("a sample of no shard or no class", err);
    const uint64_t size =
        little_endian_get(u->sections[SECTION_SHARDS] + row->place.shard * SHARD_INDEX_STAMP, 8);
    if (row->place.bytes == 0 || row->place.offset > size ||
        row->place.bytes > size - row->place.offset)
        return damaged("a sample outside its shard", err);
    return 0;
}

/* Reads all rows, with the rest of the texts as their names. Names are copied as one block, in
 * which rows have offsets. `labelled` and `named` are counted anew, as they are not stored. */
static int read_rows(struct shard_rows *rows, struct unpacking *u, struct error *err) {
    const char *names = u->text;
    rows->items = malloc((u->samples + 1) * sizeof(*rows->items));
    if (rows->items == NULL || buf_add(&rows->names, names, u->left, NULL) != 0)
        return error_no_memory(err, "a list of samples");
    /* One more than needed: malloc of 0 bytes may return NULL. The number of samples is bounded by
     * the size of its section, so that a damaged count cannot ask for more than the file has. */
    rows->room = u->samples + 1;
    for (; rows->count < u->samples; rows->count++) {
        struct shard_row *row = &rows->items[rows->count];
        if (read_row(row, u->sections[SECTION_ROWS] + rows->count * SHARD_INDEX_ROW, u, err) != 0)
            return -1;
        const char *name = take_text(u);
        if (name == NULL || name[0] == '\0')
            return damaged("a name is missing", err);
        row->name_at = (size_t)(name - names);
        rows->labelled += row->label != SHARD_NO_LABEL;
        rows->named += row->class_name >= 0;
    }
    rows->pathed = u->pathed;
    return u->left == 0 ? 0 : damaged("names beyond the last sample's", err);
}

/* The order matters: shards, classes and samples take their names from the texts in turn. */
int shard_index_unpack(struct shard_rows *rows, const void *bytes, size_t size,
                       const struct shard_list *files, struct error *err) {
    struct unpacking u = {0};
    if (read_head(&u, bytes, size, files, err) != 0 || check_shards(&u, files, err) != 0 ||
        read_classes(rows, &u, err) != 0)
        return -1;
    return read_rows(rows, &u, err);
}

/* Sets *RET to the number of the shard NAME in the index; false if it has none of this name, or a
 * text is missing. */
static bool find_shard(struct unpacking *u, const char *name, size_t *ret) {
    bool found = false;
    for (size_t i = 0; i < u->shards; i++) {
        const char *text = take_text(u);
        if (text == NULL)
            return false;
        if (strcmp(text, name) == 0) {
            *ret = i;
            found = true;
        }
    }
    return found;
}

/* Called during a scan that met damage (shards.c), to learn how many samples are lost. The shard
 * cannot match its stamp then, so that stamps are not compared: the index tells what was there. */
bool shard_index_count(const struct shard_list *files, size_t shard, uint64_t begin, uint64_t end,
                       uint64_t *ret) {
    cleanup_buf struct buf bytes = {.max = index_max};
    struct unpacking u = {0};
    char path[4096];
    size_t number = 0;
    *ret = 0;
    if (shard_index_path(files, path, NULL) != 0 || file_read(path, &bytes, NULL) != 0 ||
        read_head(&u, (const uint8_t *)bytes.data, bytes.size, files, NULL) != 0 ||
        !find_shard(&u, name_of(files->paths[shard]), &number))
        return false;
    /* All rows are looked at: they have the order of the scan, but nothing was checked to make sure
     * of it. */
    for (size_t i = 0; i < u.samples; i++) {
        struct shard_row row;
        if (read_row(&row, u.sections[SECTION_ROWS] + i * SHARD_INDEX_ROW, &u, NULL) != 0)
            return false;
        *ret += row.place.shard == number && row.place.offset >= begin && row.place.offset < end;
    }
    return true;
}

void shard_index_read(struct shard_rows *rows, const struct shard_list *files, bool *ret_used,
                      struct error *why) {
    cleanup_buf struct buf bytes = {.max = index_max};
    char path[4096];
    struct stat status;
    *ret_used = false;
    *why = (struct error){0};
    /* Only a file that is not there is no fault. One that may not be read is reported. */
    if (shard_index_path(files, path, NULL) != 0 || (stat(path, &status) != 0 && errno == ENOENT))
        return;
    *ret_used = file_read(path, &bytes, why) == 0;
    if (*ret_used && shard_index_unpack(rows, bytes.data, bytes.size, files, why) != 0) {
        *ret_used = false;
        (void)error_wrap(why, "%s", path);
    }
    if (*ret_used)
        return;
    /* What was read before the damage was found must not be mixed with a scan. */
    shard_rows_done(rows);
    shard_rows_init(rows);
}
