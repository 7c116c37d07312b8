/* The safetensors format (huggingface/safetensors, README "Format"): u64 little-endian header
 * length, a JSON header {"NAME": {"dtype", "shape", "data_offsets": [begin, end]}, ...,
 * "__metadata__": {string: string}}, then the bytes of all tensors.
 *
 * Ours adds checksums to the metadata, all CRC32C in eight lower-case hex digits: "crc32c:NAME" for
 * each tensor's bytes and "crc32c" for length and header, taken with its own digits as zeros.
 * Foreign files without checksums can be read; a file that carries them is checked.
 *
 * The reader trusts nothing: header ceiling, types, shapes against byte counts, offsets in bounds,
 * without overlap or gap. Its errors carry EXIT_CODE_DATA and name file and tensor. */
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

/* Publishes PATH with the tensors in the order given (common/file.h: old or new, never half). */
int safetensors_write(const char *path, const struct array *arrays, size_t count,
                      const struct safetensors_note *notes, size_t note_count, struct error *err);

struct safetensors_entry {
    char *name;
    enum array_type type;
    int rank;
    int64_t shape[ARRAY_RANK_MAX];
    size_t begin; /* offset into data */
    size_t size;  /* bytes */
    bool checked; /* carries a checksum... */
    uint32_t crc; /* ...this one */
    /* NULL, or why nobody here can read it: a type of later days, too many axes, too long a name.
     * Its file can be used all the same, by who does not need it. */
    const char *unusable;
};

struct safetensors {
    char *path; /* or the source's name */
    int fd;     /* of the file, when is_open */
    bool is_open;
    const uint8_t *bytes; /* of a file in memory; NULL otherwise */
    size_t data_at;       /* offset of the first byte behind the header */
    size_t data_size;
    struct safetensors_entry *entries; /* in order of begin */
    size_t count;
    json_t *notes; /* the metadata: strings by name */
    bool checked;  /* the header carries a checksum, and it holds... */
    uint32_t crc;  /* ...this one, which covers those of all tensors */
};

/* Opens and checks all of the header; the tensors' checksums are checked by safetensors_verify or
 * when a tensor is read. */
int safetensors_open(struct safetensors *file, const char *path, struct error *err);
/* The same over SIZE bytes in memory, which stay the caller's; SOURCE names them in errors. */
int safetensors_parse(struct safetensors *file, const void *bytes, size_t size, const char *source,
                      struct error *err);
void safetensors_done(struct safetensors *file);

/* Every tensor against its checksum. A file or tensor without one is an error. */
int safetensors_verify(const struct safetensors *file, struct error *err);

/* NULL where there is none. */
const struct safetensors_entry *safetensors_find(const struct safetensors *file, const char *name);
const char *safetensors_note(const struct safetensors *file, const char *key);

/* Fills array->data from the entry of its name; type and shape must agree, the checksum is checked
 * where there is one. An absent name is an error. */
int safetensors_read(const struct safetensors *file, const struct array *array, struct error *err);

#define cleanup_safetensors __attribute__((cleanup(safetensors_done)))

#endif
