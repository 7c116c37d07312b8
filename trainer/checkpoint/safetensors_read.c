#include "common/binary/little_endian.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/crc32c.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/safetensors_form.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opening reads the header alone and checks all that can be checked without the data. These are
 * lengths, types, shapes, and that the tensors cover the rest of the file without overlap or gap.
 * After that every offset of an entry is safe to use. Data are read with pread() when they are
 * asked for, so a large file needs no memory, and several readers may share the descriptor.
 *
 * Files come from anywhere. Limits on header and tensors bound what a hostile one can make this
 * program allocate. No length from the file is used before it was compared with the file's real
 * size.
 *
 * All functions work alike on a file and on bytes in memory, which tests and the fuzzer use;
 * bytes_at is the only place that reads either. */

/* Size of the pieces in which a tensor is read for its checksum. */
enum { PIECE = 1 << 20 };

/* Also for a file that was opened in part: entries are counted only once their names are owned. */
void safetensors_done(struct safetensors *file) {
    for (size_t i = 0; i < file->count; i++)
        free(file->entries[i].name);
    free(file->entries);
    free(file->path);
    json_decref(file->notes);
    if (file->is_open)
        (void)close(file->fd);
    *file = (struct safetensors){0};
}

/* Sets an error of FILE about the tensor NAME ("": the file as a whole), and returns -1. */
static int refuse(const struct safetensors *file, struct error *err, const char *name,
                  const char *why) {
    return error_set(err, EXIT_CODE_DATA, "%s: %s%s%s", file->path, name, *name ? ": " : "", why);
}

/* Reads SIZE bytes at OFFSET, from the file or memory. The range lies within the size that was
 * found on opening; a file that has become shorter since is an error, not a short read. */
static int bytes_at(const struct safetensors *file, size_t offset, void *out, size_t size,
                    struct error *err) {
    if (!file->is_open) {
        memcpy(out, file->bytes + offset, size);
        return 0;
    }
    /* One read returns at most about 2 GiB, and a signal may cut it short. */
    for (char *p = out; size > 0;) {
        ssize_t got = pread(file->fd, p, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(err, EXIT_CODE_DATA, "%s", file->path);
        if (got == 0)
            return refuse(file, err, "", "became shorter while it was read");
        p += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* Reads a checksum of eight hex digits. */
static int parse_digits(const char *text, uint32_t *ret) {
    char again[SAFETENSORS_DIGITS + 1];
    char *end;
    unsigned long value = strtoul(text, &end, 16);
    snprintf(again, sizeof(again), "%08lx", value & 0xffffffffUL);
    if (strcmp(again, text) != 0) /* only one spelling is accepted, so that a changed bit is always
                                   * detected */
        return -1;
    *ret = (uint32_t)value;
    return 0;
}

/* Reads the axes. Too many of them make the tensor unusable, not the file; a size that is no whole
 * number from 0 up makes the file invalid. */
static int parse_shape(const json_t *shape, struct safetensors_entry *entry) {
    if (!json_is_array(shape))
        return -1;
    if (json_array_size(shape) > ARRAY_RANK_MAX)
        entry->unusable = "has more axes than can be read";
    else
        entry->rank = (int)json_array_size(shape);
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return -1;
        /* Axes beyond the limit are checked, too, and then forgotten. */
        if (i < (size_t)entry->rank)
            entry->shape[i] = json_integer_value(size);
    }
    return 0;
}

/* An unknown type makes the tensor unusable only: the format gains types, and a file may hold one
 * that is never asked for. */
static int parse_type(const json_t *text, struct safetensors_entry *entry) {
    if (!json_is_string(text))
        return -1;
    for (int type = 0; type < ARRAY_TYPES; type++)
        if (strcmp(json_string_value(text), array_type_name((enum array_type)type)) == 0) {
            entry->type = (enum array_type)type;
            return 0;
        }
    entry->unusable = "has a dtype that cannot be read";
    return 0;
}

/* Returns NULL, or what is wrong. The bytes that type and shape need have to be exactly those
 * between the offsets. array_bytes gives -1 for a product that overflows, which never matches. */
static const char *parse_entry(const json_t *value, size_t data_size,
                               struct safetensors_entry *entry) {
    const json_t *offsets = json_object_get(value, "data_offsets");
    const json_t *begin = json_array_get(offsets, 0);
    const json_t *end = json_array_get(offsets, 1);
    if (parse_type(json_object_get(value, "dtype"), entry) != 0)
        return "no dtype";
    if (parse_shape(json_object_get(value, "shape"), entry) != 0)
        return "bad shape";
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end))
        return "bad data_offsets";
    /* Comparing signed numbers first keeps the conversion below exact. */
    json_int_t first = json_integer_value(begin), last = json_integer_value(end);
    if (first < 0 || last < first || (uint64_t)last > data_size)
        return "data_offsets outside of the file";
    /* As an array without data, for array_bytes. */
    struct array array = {.type = entry->type, .rank = entry->rank};
    memcpy(array.shape, entry->shape, sizeof(array.shape));
    if (entry->unusable == NULL && array_bytes(&array) != last - first)
        return "shape and data_offsets do not agree";
    /* An unusable tensor still covers its bytes (check_cover). */
    entry->begin = (size_t)first;
    entry->size = (size_t)(last - first);
    return NULL;
}

/* Sorts by begin, then by size: of tensors with the same begin, empty ones come first. */
static int compare_entries(const void *a, const void *b) {
    const struct safetensors_entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->size < y->size ? -1 : x->size > y->size;
}

/* Each byte after the header must belong to exactly one tensor. The format demands it: bytes
 * between tensors could carry anything past a checker. The entries are sorted by offset, as the
 * header may list them in any order. */
static int check_cover(struct safetensors *file, struct error *err) {
    if (file->count > 0)
        qsort(file->entries, file->count, sizeof(*file->entries), compare_entries);
    size_t at = 0;
    for (size_t i = 0; i < file->count; i++) {
        /* Sorted, the next one has to begin where the last one ended. */
        if (file->entries[i].begin != at)
            return refuse(file, err, file->entries[i].name, "overlap or gap between tensors");
        at += file->entries[i].size;
    }
    if (at != file->data_size)
        return refuse(file, err, "", "bytes that belong to no tensor, or a truncated file");
    return 0;
}

/* Adds one tensor. Its name is only used for messages and comparisons; one that is too long for
 * ARRAY_NAME_MAX cannot be asked for. A malformed checksum is an error, as it may be a changed bit.
 */
static int add_entry(struct safetensors *file, const char *name, const json_t *value,
                     struct error *err) {
    struct safetensors_entry *entry = &file->entries[file->count];
    const char *wrong = parse_entry(value, file->data_size, entry);
    if (wrong != NULL)
        return refuse(file, err, name, wrong);
    char key[ARRAY_NAME_MAX + 16];
    const char *digits = NULL;
    if (strlen(name) > ARRAY_NAME_MAX) {
        entry->unusable = "has too long a name";
    } else {
        snprintf(key, sizeof(key), SAFETENSORS_CRC ":%s", name);
        digits = safetensors_note(file, key);
    }
    if (digits != NULL && parse_digits(digits, &entry->crc) != 0)
        return refuse(file, err, name, "malformed checksum");
    entry->checked = digits != NULL;
    entry->name = strdup(name);
    if (entry->name == NULL)
        return error_no_memory(err, "reading tensors");
    file->count++;
    return 0;
}

/* Keeps a reference to the metadata, which has to be an object of strings. */
static int take_metadata(struct safetensors *file, json_t *root, struct error *err) {
    json_t *metadata = json_object_get(root, SAFETENSORS_METADATA);
    const char *key;
    json_t *value;
    if (metadata == NULL)
        return 0;
    if (!json_is_object(metadata))
        return refuse(file, err, SAFETENSORS_METADATA, "not an object");
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return refuse(file, err, SAFETENSORS_METADATA, "holds a value that is not a string");
    }
    file->notes = json_incref(metadata);
    return 0;
}

/* Checks the header's own checksum, computed over length and text with its digits as zeros. HEADER
 * is changed in the process. Without a checksum the file is foreign, and file->checked stays false.
 */
static int check_header(struct safetensors *file, struct buf *header, struct error *err) {
    const char *stated = safetensors_note(file, SAFETENSORS_CRC);
    if (stated == NULL)
        return 0;
    uint32_t crc = 0;
    char *digits = safetensors_crc_digits(header->data, header->size);
    if (digits == NULL || parse_digits(stated, &crc) != 0)
        return refuse(file, err, "", "malformed checksum of the header");
    /* As the writer computed it, with zeros where the digits are now. */
    memcpy(digits, SAFETENSORS_ZEROS, SAFETENSORS_DIGITS);
    if (crc32c(0, header->data, header->size) != crc)
        return refuse(file, err, "", "the header does not match its checksum");
    file->checked = true;
    file->crc = crc;
    return 0;
}

/* Parses the JSON text. The number of tensors is checked before memory is taken for them. Metadata
 * come before the entries, which look up their checksums in it. */
static int parse_header(struct safetensors *file, struct buf *header, struct error *err) {
    cleanup_json json_t *root = NULL;
    const char *name;
    json_t *value;
    if (json_parse(header->data + SAFETENSORS_HEAD, header->size - SAFETENSORS_HEAD, file->path,
                   &root, err) != 0)
        return error_recode(err, EXIT_CODE_DATA);
    if (!json_is_object(root))
        return refuse(file, err, "", "the header is not an object");
    /* The metadata are a member among the tensors. */
    size_t others = json_object_get(root, SAFETENSORS_METADATA) != NULL ? 1 : 0;
    if (json_object_size(root) - others > SAFETENSORS_TENSORS_MAX)
        return refuse(file, err, "", "too many tensors");
    /* One more, as a file without tensors is valid. */
    file->entries = calloc(json_object_size(root) + 1, sizeof(*file->entries));
    if (file->entries == NULL)
        return error_no_memory(err, "reading tensors");
    if (take_metadata(file, root, err) != 0)
        return -1;
    json_object_foreach(root, name, value) {
        if (strcmp(name, SAFETENSORS_METADATA) != 0 && add_entry(file, name, value, err) != 0)
            return -1;
    }
    if (check_cover(file, err) != 0)
        return -1;
    return check_header(file, header, err);
}

/* Recognizes files of PyTorch's torch.save: a ZIP archive, or in old versions a bare pickle. */
static bool is_pickle(const uint8_t head[SAFETENSORS_HEAD]) {
    return memcmp(head, "PK\x03\x04", 4) == 0 || (head[0] == 0x80 && head[1] >= 2 && head[1] <= 5);
}

/* Reads the header from the source that is set, SIZE bytes long. */
static int read_header(struct safetensors *file, size_t size, struct error *err) {
    cleanup_buf struct buf header;
    buf_init(&header, SAFETENSORS_HEADER_MAX + SAFETENSORS_HEAD);
    uint8_t head[SAFETENSORS_HEAD];
    if (size < sizeof(head))
        return refuse(file, err, "", "not a safetensors file: shorter than 8 bytes");
    if (bytes_at(file, 0, head, sizeof(head), err) != 0)
        return -1;
    /* A likely mistake, so the error says how to convert such a file. */
    if (is_pickle(head))
        return error_set(
            err, EXIT_CODE_DATA,
            "%s: a PyTorch file, not safetensors; convert it: python3 -c 'import sys, torch; from "
            "safetensors.torch import save_file; save_file({k: v.clone() for k, v in "
            "torch.load(sys.argv[1], map_location=\"cpu\", weights_only=True).items()}, "
            "sys.argv[2])' FILE.pth FILE.safetensors",
            file->path);
    const uint64_t length = little_endian_get(head, SAFETENSORS_HEAD);
    /* Compared with what is left of the file, before anything is added to it: no overflow. */
    if (length > SAFETENSORS_HEADER_MAX || length > size - sizeof(head))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: not a safetensors file, or truncated: a header of %llu bytes",
                         file->path, (unsigned long long)length);
    /* Length and text together are what the checksum covers. */
    size_t all = SAFETENSORS_HEAD + (size_t)length;
    if (buf_reserve(&header, all, err) != 0 || bytes_at(file, 0, header.data, all, err) != 0)
        return -1;
    header.size = all;
    file->data_at = all;
    file->data_size = size - all;
    return parse_header(file, &header, err);
}

/* O_NONBLOCK keeps a FIFO from blocking; anything but a regular file is refused. */
static int open_file(struct safetensors *file, struct error *err) {
    struct stat st;
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", file->path);
    file->is_open = true;
    if (fstat(file->fd, &st) != 0)
        return error_set_errno(err, EXIT_CODE_DATA, "%s", file->path);
    if (!S_ISREG(st.st_mode))
        return refuse(file, err, "", "not a regular file");
    return read_header(file, (size_t)st.st_size, err);
}

/* FILE holds nothing to be freed after a failure. The path is copied for later messages. */
int safetensors_open(struct safetensors *file, const char *path, struct error *err) {
    *file = (struct safetensors){.path = strdup(path)};
    if (file->path == NULL)
        return error_no_memory(err, "reading tensors");
    if (open_file(file, err) == 0)
        return 0;
    safetensors_done(file);
    return -1;
}

/* BYTES have to outlive FILE, which reads tensors from them. */
int safetensors_parse(struct safetensors *file, const void *bytes, size_t size, const char *source,
                      struct error *err) {
    *file = (struct safetensors){.path = strdup(source), .bytes = bytes};
    if (file->path == NULL)
        return error_no_memory(err, "reading tensors");
    if (read_header(file, size, err) == 0)
        return 0;
    safetensors_done(file);
    return -1;
}

/* The text belongs to FILE. There is none either if the file has no metadata at all. */
const char *safetensors_note(const struct safetensors *file, const char *key) {
    return json_string_value(json_object_get(file->notes, key));
}

/* A linear search is fast enough: a network has hundreds of tensors, and each is asked for once. */
const struct safetensors_entry *safetensors_find(const struct safetensors *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->entries[i].name, name) == 0)
            return &file->entries[i];
    return NULL;
}

/* Computes the checksum of one tensor in pieces, so that memory does not depend on its size. */
static int verify_entry(const struct safetensors *file, const struct safetensors_entry *entry,
                        char *piece, struct error *err) {
    uint32_t crc = 0;
    for (size_t done = 0; done < entry->size;) {
        size_t size = entry->size - done < PIECE ? entry->size - done : PIECE;
        if (bytes_at(file, file->data_at + entry->begin + done, piece, size, err) != 0)
            return -1;
        crc = crc32c(crc, piece, size);
        done += size;
    }
    if (crc != entry->crc)
        return refuse(file, err, entry->name, "does not match its checksum");
    return 0;
}

/* Reads the whole file. It is for files of this program, all tensors of which have checksums. */
int safetensors_verify(const struct safetensors *file, struct error *err) {
    cleanup_free char *piece = malloc(PIECE);
    if (piece == NULL)
        return error_no_memory(err, "reading tensors");
    /* Without the header's own checksum those of the tensors could be changed along with them. */
    if (!file->checked)
        return refuse(file, err, "", "carries no checksum");
    for (size_t i = 0; i < file->count; i++) {
        if (!file->entries[i].checked)
            return refuse(file, err, file->entries[i].name, "carries no checksum");
        if (verify_entry(file, &file->entries[i], piece, err) != 0)
            return -1;
    }
    return 0;
}

/* Reads filter by filter, each through SCRATCH. The checksum is that of the bytes in the file,
 * before they are transposed. A filter at a time bounds the scratch memory. */
static int read_filters(const struct safetensors *file, const struct safetensors_entry *entry,
                        const struct array *array, uint32_t *ret_crc, struct error *err) {
    /* A filter has the same place and size in both orders; only its inside is transposed. */
    float *data = array->data;
    int64_t inputs = array_inputs(array), plane = array_plane(array), filter = inputs * plane;
    size_t size = (size_t)filter * sizeof(float);
    cleanup_free float *scratch = malloc(size + 1); /* never 0, which may give NULL */
    if (scratch == NULL)
        return error_no_memory(err, "reading tensors");
    for (int64_t o = 0; o < entry->shape[0]; o++) {
        if (bytes_at(file, file->data_at + entry->begin + (size_t)o * size, scratch, size, err) !=
            0)
            return -1;
        *ret_crc = crc32c(*ret_crc, scratch, size);
        array_oihw_to_ohwi(scratch, data + o * filter, 1, inputs, plane, 1);
    }
    return 0;
}

/* The data are in the caller's memory before the checksum is known to be right: after a failure
 * they must not be used. */
int safetensors_read(const struct safetensors *file, const struct array *array, struct error *err) {
    char there[ARRAY_SHAPE_TEXT_SIZE], here[ARRAY_SHAPE_TEXT_SIZE];
    const struct safetensors_entry *entry = safetensors_find(file, array->name);
    if (entry == NULL)
        return refuse(file, err, array->name, "there is no such tensor");
    if (entry->unusable != NULL)
        return refuse(file, err, array->name, entry->unusable);
    if (entry->type != array->type)
        return error_set(err, EXIT_CODE_DATA, "%s: %s: has type %s, expected %s", file->path,
                         array->name, array_type_name(entry->type), array_type_name(array->type));
    /* Both are in the order of the file, whatever the order in memory. */
    if (entry->rank != array->rank ||
        memcmp(entry->shape, array->shape, (size_t)entry->rank * sizeof(entry->shape[0])) != 0)
        return error_set(err, EXIT_CODE_DATA, "%s: %s: has the shape %s, expected %s", file->path,
                         array->name, array_shape_text(entry->shape, entry->rank, there),
                         array_shape_text(array->shape, array->rank, here));
    uint32_t crc = 0;
    /* Convolutions lie in another order in memory than in the file; all else is copied as it is. */
    if (array_inputs(array) > 0) {
        if (read_filters(file, entry, array, &crc, err) != 0)
            return -1;
    } else {
        if (bytes_at(file, file->data_at + entry->begin, array->data, entry->size, err) != 0)
            return -1;
        crc = crc32c(0, array->data, entry->size);
    }
    /* Foreign files have none, and are taken as they are. */
    if (entry->checked && crc != entry->crc)
        return refuse(file, err, entry->name, "does not match its checksum");
    return 0;
}
