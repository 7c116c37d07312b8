/* Shard file of a data set: a regular file that holds many samples.
 *
 * Any number of threads may read from one at the same time. Errors name the shard. Content that is
 * not as expected, an early end included, is EXIT_CODE_DATA; an error of the system is
 * EXIT_CODE_CONFIG with its errno. */
#ifndef TRAINER_DATA_FORMAT_SHARD_FILE_H
#define TRAINER_DATA_FORMAT_SHARD_FILE_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

struct shard_file {
    int fd;           /* owned */
    const char *path; /* borrowed */
    uint64_t size;    /* bytes, at opening */
};
#define SHARD_FILE_CLOSED                                                                          \
    { .fd = -1 }

int shard_file_open(struct shard_file *ret, const char *path, struct error *err);
void shard_file_done(struct shard_file *file);

/* Reads exactly SIZE bytes from OFFSET on. */
int shard_file_read(const struct shard_file *file, uint64_t offset, void *ret, size_t size,
                    struct error *err);

/* Replaces OUT, up to its maximum, by SIZE bytes from OFFSET on. */
int shard_file_load(const struct shard_file *file, uint64_t offset, uint64_t size, struct buf *out,
                    struct error *err);

/* Small pieces of a shard, read through a buffer: for headers among large payloads. Not thread
 * safe. */
enum { SHARD_WINDOW_SIZE = 4096 };
struct shard_window {
    const struct shard_file *file; /* borrowed */
    uint64_t at;                   /* offset of the buffer's first byte */
    size_t size;                   /* bytes in the buffer */
    uint8_t bytes[SHARD_WINDOW_SIZE];
};

/* Returns SIZE bytes (at most SHARD_WINDOW_SIZE) from OFFSET on, valid until the next call; NULL
 * with an error. */
const uint8_t *shard_window_get(struct shard_window *window, uint64_t offset, size_t size,
                                struct error *err);

/* Sets an error about the record at OFFSET: "PATH: at byte OFFSET: ..." */
int shard_file_bad(const struct shard_file *file, uint64_t offset, struct error *err,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

#define cleanup_shard_file __attribute__((cleanup(shard_file_done)))

#endif
