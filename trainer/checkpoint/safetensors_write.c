#include "common/binary/little_endian.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/crc32c.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/safetensors_form.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file is written in one pass over the arrays, although its header, which has the checksums,
 * comes first. The header is written with zeros for them, and once more at the end with their
 * values; both have the same length, because a checksum always has eight digits. Two passes would
 * read every array twice, which can be gigabytes.
 *
 * The file has a temporary name until all of it is on the disk (common/file/file.h), so no reader
 * sees the zeros. */

/* Writes the array's bytes to FD in the file's order, and their checksum to RET_CRC; an OHWI array
 * is transposed in SCRATCH. */
static int stream_array(const struct array *array, float *scratch, int fd, uint32_t *ret_crc,
                        struct error *err) {
    const size_t bytes = (size_t)array_bytes(array);
    const void *from = array->ohwi ? scratch : array->data;
    if (array->ohwi)
        array_ohwi_to_oihw(array->data, scratch, array->shape[0], array_inputs(array),
                           array_plane(array), 1);
    *ret_crc = crc32c(0, from, bytes);
    return file_write_all(fd, from, bytes, err);
}

/* Names are copied into JSON unescaped and become file names of other tools: plain characters
 * only. */
static bool is_plain_name(const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length > ARRAY_NAME_MAX)
        return false;
    for (const char *p = name; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~' || *p == '"' || *p == '\\')
            return false;
    return strcmp(name, SAFETENSORS_METADATA) != 0;
}

/* Errors here are mistakes of this program, not of its user. */
static int check_array(const struct array *array, struct error *err) {
    if (!is_plain_name(array->name))
        return error_set(err, EXIT_CODE_INTERNAL, "\"%s\" is not a valid tensor name", array->name);
    if (array_bytes(array) < 0)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: impossible shape", array->name);
    if (array->ohwi && array_inputs(array) == 0)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: OHWI needs four axes of F32", array->name);
    return 0;
}

/* Describes ARRAY, with its data from BEGIN on. Returns NULL if memory runs out. */
static json_t *entry_json(const struct array *array, int64_t begin) {
    json_t *shape = json_array();
    for (int i = 0; i < array->rank; i++)
        json_array_append_new(shape, json_integer(array->shape[i]));
    json_int_t end = begin + array_bytes(array); /* cannot overflow: memory holds all of them */
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", array_type_name(array->type), "shape", shape,
                     "data_offsets", (json_int_t)begin, end);
}

/* Sets the checksum of one tensor in the metadata, or replaces it. */
static int set_checksum(json_t *metadata, const struct array *array, uint32_t crc,
                        struct error *err) {
    char key[ARRAY_NAME_MAX + 16];
    char digits[SAFETENSORS_DIGITS + 1];
    snprintf(key, sizeof(key), SAFETENSORS_CRC ":%s", array->name);
    snprintf(digits, sizeof(digits), "%08x", (unsigned)crc);
    if (json_object_set_new(metadata, key, json_string(digits)) != 0)
        return error_no_memory(err, "checkpoint header");
    return 0;
}

/* Builds the header as JSON, with zeros in place of all checksums. "format" is what PyTorch's
 * loaders look for. The order of the arrays is that of their data. */
static int header_json(const struct array *arrays, size_t count,
                       const struct safetensors_note *notes, size_t note_count, json_t **ret_root,
                       struct error *err) {
    cleanup_json json_t *root = json_object();
    json_t *metadata = json_object(); /* root takes ownership */
    if (json_object_set_new(root, SAFETENSORS_METADATA, metadata) != 0 ||
        json_object_set_new(metadata, "format", json_string("pt")) != 0 ||
        json_object_set_new(metadata, SAFETENSORS_CRC, json_string(SAFETENSORS_ZEROS)) != 0)
        return error_no_memory(err, "checkpoint header");
    for (size_t i = 0; i < note_count; i++)
        if (json_object_set_new(metadata, notes[i].key, json_string(notes[i].text)) != 0)
            return error_set(err, EXIT_CODE_INTERNAL, "note %s is not text", notes[i].key);
    int64_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        const struct array *array = &arrays[i];
        if (check_array(array, err) != 0)
            return -1;
        if (json_object_get(root, array->name) != NULL)
            return error_set(err, EXIT_CODE_INTERNAL, "%s: two tensors with this name",
                             array->name);
        if (set_checksum(metadata, array, 0, err) != 0)
            return -1;
        if (json_object_set_new(root, array->name, entry_json(array, begin)) != 0)
            return error_no_memory(err, "checkpoint header");
        begin += array_bytes(array);
    }
    *ret_root = TAKE_PTR(root);
    return 0;
}

/* Writes length and header, padded with blanks to a multiple of eight, with the checksum filled
 * in. */
static int header_bytes(const json_t *root, struct buf *out, struct error *err) {
    cleanup_free char *text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (text == NULL)
        return error_no_memory(err, "checkpoint header");
    /* Data that begin at a multiple of eight can be mapped and used in place by other readers. */
    size_t length = (strlen(text) + 7) / 8 * 8;
    if (length > SAFETENSORS_HEADER_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "a header of %zu bytes; at most %d are allowed",
                         length, SAFETENSORS_HEADER_MAX);
    char head[SAFETENSORS_HEAD];
    little_endian_put(head, length, sizeof(head));
    if (buf_add(out, head, sizeof(head), err) != 0 ||
        buf_printf(out, err, "%-*s", (int)length, text) != 0)
        return -1;
    /* The sum is taken over zeros in its own place, which are still there. */
    char *digits = safetensors_crc_digits(out->data, out->size);
    if (digits == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "a header without a place for its checksum");
    char sum[SAFETENSORS_DIGITS + 1];
    snprintf(sum, sizeof(sum), "%08x", (unsigned)crc32c(0, out->data, out->size));
    memcpy(digits, sum, SAFETENSORS_DIGITS);
    return 0;
}

/* Replaces the header at the beginning of the file by the one with the arrays' checksums, which is
 * as long. */
static int write_header_again(int fd, const struct buf *header, struct error *err) {
    if (lseek(fd, 0, SEEK_SET) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "the header's place");
    return file_write_all(fd, header->data, header->size, err);
}

/* Writes a file in one pass over the arrays: their checksums are known when all are written. */
static int write_all(int fd, json_t *root, const struct array *arrays, size_t count, float *scratch,
                     struct error *err) {
    cleanup_buf struct buf header;
    json_t *metadata = json_object_get(root, SAFETENSORS_METADATA);
    buf_init(&header, SAFETENSORS_HEADER_MAX + SAFETENSORS_HEAD);
    if (header_bytes(root, &header, err) != 0 ||
        file_write_all(fd, header.data, header.size, err) != 0)
        return -1;
    const size_t size = header.size; /* which the second header must have as well */
    for (size_t i = 0; i < count; i++) {
        uint32_t crc = 0;
        if (stream_array(&arrays[i], scratch, fd, &crc, err) != 0 ||
            set_checksum(metadata, &arrays[i], crc, err) != 0)
            return -1;
    }
    /* The checksums are known now; the header is made again with them. */
    buf_consume(&header, header.size);
    if (header_bytes(root, &header, err) != 0)
        return -1;
    return header.size == size ? write_header_again(fd, &header, err)
                               : error_set(err, EXIT_CODE_INTERNAL,
                                           "a header of %zu bytes, not %zu", header.size, size);
}

/* Allocates memory for the largest array that is transposed. */
static float *transpose_scratch(const struct array *arrays, size_t count) {
    int64_t most = 1;
    for (size_t i = 0; i < count; i++)
        if (arrays[i].ohwi && array_count(&arrays[i]) > most)
            most = array_count(&arrays[i]);
    return malloc((size_t)most * sizeof(float)); /* never of no bytes: MOST is 1 at least */
}

/* All arrays are checked before the file is created. After a failure nothing of it is left, and a
 * file that was at PATH is as it was. */
int safetensors_write(const char *path, const struct array *arrays, size_t count,
                      const struct safetensors_note *notes, size_t note_count, struct error *err) {
    cleanup_free float *scratch = transpose_scratch(arrays, count);
    cleanup_json json_t *root = NULL;
    if (scratch == NULL)
        return error_no_memory(err, "checkpoint");
    if (count > SAFETENSORS_TENSORS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%s: %zu tensors; at most %d are allowed", path,
                         count, SAFETENSORS_TENSORS_MAX);
    if (header_json(arrays, count, notes, note_count, &root, err) != 0)
        return error_wrap(err, "%s", path);
    char temp[4096];
    int fd = file_publish_open(path, temp, 0644, err);
    if (fd < 0)
        return -1;
    if (write_all(fd, root, arrays, count, scratch, err) != 0) {
        file_publish_abort(fd, temp);
        return error_wrap(err, "%s", path);
    }
    return file_publish_commit(fd, temp, path, err);
}
