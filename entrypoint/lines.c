#include "entrypoint/lines.h"

#include "common/str.h"

#include <stdio.h>
#include <string.h>

/* One line of the tail at most: a report has room for some. */
enum { TAIL_LINE_MAX = 400 };

static size_t count_lines(const struct tail *t) {
    size_t count = t->size > 0 ? 1 : 0;
    for (size_t i = 0; i < t->size; i++)
        count += t->text[i] == '\n';
    return count;
}

static void drop_first(struct tail *t) {
    const char *end = memchr(t->text, '\n', t->size);
    size_t gone = end != NULL ? (size_t)(end - t->text) + 1 : t->size;
    memmove(t->text, t->text + gone, t->size - gone);
    t->size -= gone;
}

void tail_add(struct tail *t, const char *line, size_t size) {
    size = str_utf8_prefix(line, size, TAIL_LINE_MAX);
    if (size == 0)
        return;
    while (count_lines(t) >= LINES_TAIL_COUNT || t->size + size + 2 > sizeof(t->text))
        drop_first(t);
    if (t->size > 0)
        t->text[t->size++] = '\n';
    memcpy(t->text + t->size, line, size);
    t->size += size;
    t->text[t->size] = '\0';
}

void lines_init(struct lines *l, const char *prefix, struct tail *tail,
                void (*emit)(void *context, const char *line, size_t size), void *context) {
    *l = (struct lines){.tail = tail, .emit = emit, .context = context};
    (void)snprintf(l->prefix, sizeof(l->prefix), "%s", prefix);
    buf_init(&l->partial, LINES_MAX);
}

void lines_done(struct lines *l) {
    buf_done(&l->partial);
}

static void emit_piece(struct lines *l, const char *text, size_t size) {
    char line[LINES_MAX];
    size_t prefix = strlen(l->prefix);
    memcpy(line, l->prefix, prefix);
    memcpy(line + prefix, text, size);
    line[prefix + size] = '\n';
    l->emit(l->context, line, prefix + size + 1);
}

/* RAW is one line without its end. Out of memory it is lost: there is nowhere to say so. */
static void emit_line(struct lines *l, const char *raw, size_t size) {
    cleanup_buf struct buf text;
    buf_init(&text, 3 * (size_t)LINES_MAX + 1);
    if (str_add_utf8(&text, raw, size, NULL) != 0)
        return;
    if (l->tail != NULL)
        tail_add(l->tail, buf_text(&text), text.size);
    const char *at = buf_text(&text);
    size_t left = text.size;
    size_t room = LINES_MAX - strlen(l->prefix) - 1;
    do {
        size_t piece = str_utf8_prefix(at, left, room);
        emit_piece(l, at, piece);
        at += piece;
        left -= piece;
    } while (left > 0);
}

static void end_line(struct lines *l) {
    emit_line(l, buf_text(&l->partial), l->partial.size);
    l->partial.size = 0;
}

/* A line too long for one: cut where no character is cut in two. */
static void cut_line(struct lines *l) {
    size_t cut = l->partial.size;
    const char *data = l->partial.data;
    for (int i = 0; i < 3 && ((unsigned char)data[cut - 1] & 0xC0) == 0x80; i++)
        cut--;
    if ((unsigned char)data[cut - 1] >= 0xC0)
        cut--;
    emit_line(l, data, cut);
    buf_consume(&l->partial, cut);
}

static void add_text(struct lines *l, const char *bytes, size_t size) {
    while (size > 0) {
        size_t room = l->partial.max - l->partial.size;
        size_t piece = size < room ? size : room;
        if (buf_add(&l->partial, bytes, piece, NULL) != 0)
            return;
        bytes += piece;
        size -= piece;
        if (l->partial.size == l->partial.max)
            cut_line(l);
    }
}

void lines_feed(struct lines *l, const char *bytes, size_t size) {
    const char *end = bytes + size;
    while (bytes < end) {
        const char *at = bytes;
        while (at < end && *at != '\n' && *at != '\r')
            at++;
        if (at > bytes)
            l->after_return = false;
        add_text(l, bytes, (size_t)(at - bytes));
        if (at == end)
            return;
        bool second_half = *at == '\n' && l->after_return; /* of "\r\n" */
        bool empty_return = *at == '\r' && l->partial.size == 0;
        if (!second_half && !empty_return)
            end_line(l);
        l->after_return = *at == '\r' && !empty_return;
        bytes = at + 1;
    }
}

void lines_end(struct lines *l) {
    if (l->partial.size > 0)
        end_line(l);
}
