#include "entrypoint/os/line_splitter.h"

#include "common/clock.h"
#include "common/str.h"

#include <stdio.h>
#include <string.h>

/* Bytes of a line collect in `partial` until it ends. Bytes beyond its room are counted and not
 * kept, so a program that never ends its line costs a mebibyte at most. What is emitted is made
 * valid UTF-8, which may lengthen it: a byte that is invalid becomes three.
 *
 * Carriage returns are handled here. "\r\n" is one line end, a return in the middle of a line ends
 * it, and one at its start is ignored. */

/* Limits of the tail: a long line is cut, as a report has room for a few. */
enum { TAIL_LINE_MAX = 400, MARK_SIZE = 64, PARTIAL_KEPT = 64 * 1024 };

/* Lines are separated, not ended, by line feeds. */
static size_t count_lines(const struct tail *t) {
    size_t count = t->size > 0 ? 1 : 0;
    for (size_t i = 0; i < t->size; i++)
        count += t->text[i] == '\n';
    return count;
}

/* Removes the oldest line with its line feed. */
static void drop_first(struct tail *t) {
    const char *end = memchr(t->text, '\n', t->size);
    size_t gone = end != NULL ? (size_t)(end - t->text) + 1 : t->size;
    memmove(t->text, t->text + gone, t->size - gone);
    t->size -= gone;
}

/* Keeps at most LINE_SPLITTER_TAIL_COUNT lines, each of at most TAIL_LINE_MAX bytes, and drops the
 * oldest for it. Empty lines are left out. */
void tail_add(struct tail *t, const char *line, size_t size) {
    size = str_utf8_prefix(line, size, TAIL_LINE_MAX);
    if (size == 0)
        return;
    while (count_lines(t) >= LINE_SPLITTER_TAIL_COUNT || t->size + size + 2 > sizeof(t->text))
        drop_first(t);
    if (t->size > 0)
        t->text[t->size++] = '\n';
    memcpy(t->text + t->size, line, size);
    t->size += size;
    t->text[t->size] = '\0';
}

/* Adds the lines of T after the first SKIP. */
static void add_all(struct tail *ret, const struct tail *t, size_t skip) {
    const char *at = t->text;
    const char *end = t->text + t->size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((stop != NULL ? stop : end) - at);
        if (skip == 0)
            tail_add(ret, at, size);
        skip -= skip > 0;
        at += size + 1;
    }
}

/* HALF of the lines belongs to each stream, and what one does not need to the other. */
void tail_join(const struct tail *out, const struct tail *error_out, struct tail *ret) {
    const size_t half = LINE_SPLITTER_TAIL_COUNT / 2;
    size_t outs = count_lines(out);
    size_t errors = count_lines(error_out);
    /* Standard error may fill what standard output leaves, and the other way round. */
    size_t room = outs < half ? LINE_SPLITTER_TAIL_COUNT - outs : half;
    size_t skip = errors > room ? errors - room : 0;
    size_t left = LINE_SPLITTER_TAIL_COUNT - (errors - skip);
    bool old = out->last - error_out->last > LINE_SPLITTER_TAIL_TOGETHER_NS;
    *ret = (struct tail){.size = 0};
    if (old)
        add_all(ret, error_out, skip);
    add_all(ret, out, outs > left ? outs - left : 0);
    if (!old)
        add_all(ret, error_out, skip);
}

/* A PREFIX that is too long is cut. */
void line_splitter_init(struct line_splitter *l, const char *prefix, struct tail *tail,
                        void (*emit)(void *context, const char *line, size_t size), void *context) {
    *l = (struct line_splitter){.tail = tail, .emit = emit, .context = context};
    (void)snprintf(l->prefix, sizeof(l->prefix), "%s", prefix);
    buf_init(&l->partial, LINE_SPLITTER_MAX);
}

void line_splitter_done(struct line_splitter *l) {
    buf_done(&l->partial);
}

/* Emits RAW as a line without its end; LOST more bytes did not fit. If memory runs out the line is
 * lost, because there is no place to report it. The tail gets the line without its prefix, and
 * before it is cut. */
static void emit_line(struct line_splitter *l, const char *raw, size_t size, size_t lost) {
    char mark[MARK_SIZE] = "";
    cleanup_buf struct buf line;
    const size_t prefix = strlen(l->prefix);
    const size_t room = LINE_SPLITTER_MAX - 1;
    buf_init(&line, 3 * (size_t)LINE_SPLITTER_MAX + LINE_SPLITTER_PREFIX_SIZE);
    if (buf_add(&line, l->prefix, prefix, NULL) != 0 || str_add_utf8(&line, raw, size, NULL) != 0)
        return;
    if (l->tail != NULL) {
        tail_add(l->tail, buf_text(&line) + prefix, line.size - prefix);
        l->tail->last = clock_now();
    }
    if (lost > 0 || line.size > room)
        (void)snprintf(mark, sizeof(mark), " [cut: the line has %zu bytes]", size + lost);
    line.size = str_utf8_prefix(buf_text(&line), line.size, room - strlen(mark));
    if (buf_add_text(&line, mark, NULL) == 0 && buf_add(&line, "\n", 1, NULL) == 0)
        l->emit(l->context, line.data, line.size);
}

/* Frees the memory of a very long line rather than keeping it for all that follow. */
static void forget_line(struct line_splitter *l) {
    if (l->partial.capacity > PARTIAL_KEPT) {
        buf_done(&l->partial);
        buf_init(&l->partial, LINE_SPLITTER_MAX);
    }
    l->partial.size = 0;
    l->lost = 0;
}

/* Ends a line. If room ran out within a character, its first bytes are dropped, too. A character
 * has up to three bytes after its first, which have 10 as their upper bits. */
static void end_line(struct line_splitter *l) {
    size_t size = l->partial.size;
    const unsigned char *data = (const unsigned char *)l->partial.data;
    size_t back = 0;
    /* Looks back for the first byte of the last character. */
    while (l->lost > 0 && back < 3 && back + 1 < size && (data[size - 1 - back] & 0xC0) == 0x80)
        back++;
    if (l->lost > 0 && size > back && data[size - 1 - back] >= 0xC0)
        size -= back + 1;
    emit_line(l, buf_text(&l->partial), size, l->lost + (l->partial.size - size));
    forget_line(l);
}

/* Memory that runs out counts as room that runs out. */
static void add_text(struct line_splitter *l, const char *bytes, size_t size) {
    size_t room = l->partial.max - l->partial.size;
    size_t fit = size < room ? size : room;
    if (fit > 0 && buf_add(&l->partial, bytes, fit, NULL) != 0)
        fit = 0;
    l->lost += size - fit;
}

/* Emits each line that ends within the bytes; the rest waits for the next call. */
void line_splitter_feed(struct line_splitter *l, const char *bytes, size_t size) {
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
        bool second_half = *at == '\n' && l->after_return; /* second byte of "\r\n" */
        /* Progress bars begin with it to go back to the start of the line. */
        bool empty_return = *at == '\r' && l->partial.size == 0;
        if (!second_half && !empty_return)
            end_line(l);
        l->after_return = *at == '\r' && !empty_return;
        bytes = at + 1;
    }
}

/* For the end of the stream; the splitter can be fed on. */
void line_splitter_end(struct line_splitter *l) {
    if (l->partial.size > 0)
        end_line(l);
}
