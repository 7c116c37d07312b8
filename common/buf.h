/* Growable byte buffer with a maximum size.
 *
 * A zeroed buffer is empty and has no room: set its maximum first. The bytes are always followed by
 * a NUL that is not counted, so text can be read as a C string. Not thread safe. */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include "common/error.h"

#include <stddef.h>

struct buf {
    char *data; /* owned; NULL while empty and never grown */
    size_t size;
    size_t capacity;
    size_t max; /* maximum number of bytes */
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);

/* Makes room for at least EXTRA more bytes after the first `size`. Fails at the maximum size or out
 * of memory, and then leaves the buffer unchanged. */
int buf_reserve(struct buf *b, size_t extra, struct error *err);
int buf_add(struct buf *b, const void *bytes, size_t size, struct error *err);
int buf_add_text(struct buf *b, const char *text, struct error *err);
int buf_printf(struct buf *b, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Drops the first COUNT bytes (at most all of them). */
void buf_consume(struct buf *b, size_t count);

/* Frees the memory of an empty buffer, unless it is small. Meant for buffers that hold much only
 * now and then. */
void buf_slim(struct buf *b);

/* The bytes as a C string, never NULL. */
const char *buf_text(const struct buf *b);

#define cleanup_buf __attribute__((cleanup(buf_done)))

#endif
