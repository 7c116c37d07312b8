/* Reader and writer of the safetensors format (huggingface/safetensors, README "Format"). A file is
 * a u64 little-endian header length, a JSON header {"NAME": {"dtype", "shape", "data_offsets":
 * [begin, end]}, ..., "__metadata__": {string: string}}, then the bytes of all tensors.
 *
 * Files of this program have checksums in the metadata, all CRC32C in eight lower-case hex digits.
 * They are "crc32c:NAME" for each tensor's bytes, and "crc32c" for length and header, computed with
 * its own digits as zeros. Foreign files without checksums can be read; checksums that exist are
 * checked.
 *
 * The reader validates everything: header size, types, shapes against byte counts, offsets in
 * bounds, without overlap or gap. Its errors have EXIT_CODE_DATA and name file and tensor. */
#ifndef TRAINER_CHECKPOINT_SAFETENSORS_H
#define TRAINER_CHECKPOINT_SAFETENSORS_H

#include "common/error.h"
#include "trainer/checkpoint/array.h"

#include <jansson.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SAFETENSORS_HEADER_MAX = 1024 * 1024, /* bytes of JSON */
    SAFETENSORS_TENSORS_MAX = 8192,
};

struct safetensors_note {
    const char *key; /* must not begin with "crc32c" */
    const char *text;
};

/* Writes PATH atomically (common/file/file.h), with the tensors in the given order. */
int safetensors_write(const char *path, const struct array *arrays, size_t count,
                      const struct safetensors_note *notes, size_t note_count, struct error *err);

struct safetensors_entry {
    char *name;
    enum array_type type;
    int rank;
    int64_t shape[ARRAY_RANK_MAX];
    size_t begin; /* offset into data */
    size_t size;  /* bytes */
    bool checked; /* it has a checksum... */
    uint32_t crc; /* ...which is this */
    /* NULL, or why this program cannot read it: a newer type, too many axes, too long a name. The
     * file is usable as long as this tensor is not needed. */
    const char *unusable;
};

struct safetensors {
    char *path; /* or the source's name */
    int fd;     /* of the file, if is_open */
    bool is_open;
    const uint8_t *bytes; /* of a file in memory; else NULL */
    size_t data_at;       /* offset of the first byte after the header */
    size_t data_size;
    struct safetensors_entry *entries; /* in order of begin */
    size_t count;
    json_t *notes; /* metadata: strings by name */
    bool checked;  /* the header has a checksum... */
    uint32_t crc;  /* ...which is this and covers those of all tensors */
};

/* Opens the file and checks the whole header. Tensor checksums are checked by safetensors_verify,
 * or when a tensor is read. */
int safetensors_open(struct safetensors *file, const char *path, struct error *err);
/* The same for SIZE bytes in memory, which stay the caller's; SOURCE names them in errors. */
int safetensors_parse(struct safetensors *file, const void *bytes, size_t size, const char *source,
                      struct error *err);
void safetensors_done(struct safetensors *file);

/* Checks all tensors against their checksums. A file or tensor without one is an error. */
int safetensors_verify(const struct safetensors *file, struct error *err);

/* Returns NULL if there is none. */
const struct safetensors_entry *safetensors_find(const struct safetensors *file, const char *name);
const char *safetensors_note(const struct safetensors *file, const char *key);

/* Fills array->data from the entry with its name. Type and shape must match; a checksum is checked
 * if there is one. A missing name is an error. */
int safetensors_read(const struct safetensors *file, const struct array *array, struct error *err);

#define cleanup_safetensors __attribute__((cleanup(safetensors_done)))

#endif
