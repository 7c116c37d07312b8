#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256, SLIM_CAPACITY = 1024 };

void buf_init(struct buf *b, size_t max) {
    *b = (struct buf){.max = max};
}

void buf_done(struct buf *b) {
    free(b->data);
    *b = (struct buf){0};
}

int buf_reserve(struct buf *b, size_t extra, struct error *err) {
    if (extra > b->max || b->size > b->max - extra)
        return error_set(err, EXIT_CODE_DATA, "more than %zu bytes", b->max);
    size_t need = b->size + extra + 1;
    if (need <= b->capacity)
        return 0;
    size_t capacity = b->capacity > 0 ? b->capacity : FIRST_CAPACITY;
    while (capacity < need)
        capacity = capacity > (b->max + 1) / 2 ? b->max + 1 : capacity * 2;
    char *data = realloc(b->data, capacity);
    if (data == NULL)
        return error_no_memory(err, "buffer");
    b->data = data;
    b->capacity = capacity;
    b->data[b->size] = '\0';
    return 0;
}

int buf_add(struct buf *b, const void *bytes, size_t size, struct error *err) {
    if (buf_reserve(b, size, err) != 0)
        return -1;
    if (size > 0)
        memcpy(b->data + b->size, bytes, size);
    b->size += size;
    b->data[b->size] = '\0';
    return 0;
}

int buf_add_text(struct buf *b, const char *text, struct error *err) {
    return buf_add(b, text, strlen(text), err);
}

int buf_printf(struct buf *b, struct error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return error_set(err, EXIT_CODE_INTERNAL, "formatting failed");
    if (buf_reserve(b, (size_t)length, err) != 0)
        return -1;
    va_start(args, format);
    vsnprintf(b->data + b->size, (size_t)length + 1, format, args);
    va_end(args);
    b->size += (size_t)length;
    return 0;
}

void buf_consume(struct buf *b, size_t count) {
    if (count >= b->size) {
        b->size = 0;
    } else {
        memmove(b->data, b->data + count, b->size - count);
        b->size -= count;
    }
    if (b->data != NULL)
        b->data[b->size] = '\0';
}

void buf_slim(struct buf *b) {
    if (b->size > 0 || b->capacity <= SLIM_CAPACITY)
        return;
    free(b->data);
    b->data = NULL;
    b->capacity = 0;
}

const char *buf_text(const struct buf *b) {
    return b->data != NULL ? b->data : "";
}
