#include "entrypoint/os/console.h"

#include "common/clock.h"
#include "common/system/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/* Two queues feed one descriptor. The launcher's own lines (words) overtake lines of programs, but
 * never in the middle of one: a line that has gone in part is finished first (`begun`). When a
 * queue is full its oldest whole lines are dropped, and counted in `dropped` until a notice tells
 * of them.
 *
 * There are three ways to wait for room. A pipe, socket or terminal is watched with epoll. A plain
 * file cannot be watched, and is written until it fails. A terminal may say that it has room and
 * take nothing: then, and after an error that may pass, a timer tries again.
 *
 * A reader that is gone makes the console `broken`: everything is discarded from then on, and the
 * process lives on. */

/* A terminal may report room and still take no bytes; after this pause it is tried again. */
static const int64_t retry_after = 50 * CLOCK_MILLISECOND;
/* A full disk may get room again; after this pause it is tried again. */
static const int64_t room_after = CLOCK_SECOND;
/* Interval of the notices while lines are being lost. */
static const int64_t notice_interval = CLOCK_SECOND;

/* Making room moves the rest of the queue, so it is made for many lines at once. */
enum { DROP_LEAST = CONSOLE_QUEUE_MAX / 8, NOTICE_SIZE = 128 };

/* --- queues ---------------------------------------------------------------------------------- */

/* Counts line ends. */
static size_t count_lines(const char *bytes, size_t size) {
    size_t count = 0;
    for (const char *at = bytes, *end = bytes + size;
         (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        count++;
    return count;
}

/* The size of the first line, or of what is left of it, with its end. There is one. */
static size_t rest_of_first(const struct console_queue *q) {
    const char *end = memchr(q->bytes.data, '\n', q->bytes.size);
    return (size_t)(end - q->bytes.data) + 1;
}

/* Drops the oldest whole lines, at least SIZE bytes if there are so many. A partly written line
 * stays. Moving the rest of the queue costs as much as it holds, so callers ask for many bytes at a
 * time. */
static void drop_oldest(struct console *c, struct console_queue *q, size_t size) {
    char *data = q->bytes.data;
    size_t first = q->begun ? rest_of_first(q) : 0;
    size_t left = q->bytes.size - first;
    if (left == 0)
        return;
    size_t aim = (size < left ? size : left) - 1;
    const char *end = memchr(data + first + aim, '\n', left - aim);
    size_t gone = (size_t)(end - (data + first)) + 1;
    size_t count = count_lines(data + first, gone);
    memmove(data + first, data + first + gone, left - gone);
    q->bytes.size -= gone;
    c->dropped += count;
    c->dropped_ever += count;
}

/* Adds a line to the queue, dropping older ones if need be. A line that cannot be added even then,
 * for want of memory, is dropped itself. */
static void put(struct console *c, struct console_queue *q, const char *line, size_t size) {
    if (buf_add(&q->bytes, line, size, NULL) == 0)
        return;
    drop_oldest(c, q, size > DROP_LEAST ? size : DROP_LEAST);
    if (buf_add(&q->bytes, line, size, NULL) != 0)
        console_count_dropped(c, 1);
}

/* For lines that were dropped elsewhere, on their way here. */
void console_count_dropped(struct console *c, uint64_t lines) {
    c->dropped += lines;
    c->dropped_ever += lines;
}

/* Bytes of both queues, without the status line. */
size_t console_waiting(const struct console *c) {
    return c->words.bytes.size + c->lines.bytes.size;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Tells of the lines dropped since the last notice, as a line of the launcher's own. */
static void print_dropped(struct console *c) {
    char line[NOTICE_SIZE];
    int size = snprintf(
        line, sizeof(line), "[ringmaster] %" PRIu64 " lines dropped here, %" PRIu64 " in all: %s\n",
        c->dropped, c->dropped_ever,
        c->was_full ? "this log could not be written for a while" : "this log is read too slowly");
    put(c, &c->words, line, (size_t)size);
    c->dropped = 0;
    c->was_full = false;
    c->printed_at = clock_now();
}

/* The queue to write from next: a partly written line, then our own messages, then lines. A gap
 * between lines may have to be reported first. */
static struct console_queue *next(struct console *c) {
    if (c->lines.begun)
        return &c->lines;
    if (c->words.bytes.size == 0 && c->dropped > 0 &&
        clock_now() - c->printed_at >= notice_interval)
        print_dropped(c);
    return c->words.bytes.size > 0 ? &c->words : &c->lines;
}

/* Returns true if a write that fails with NUMBER may succeed later, as on a full disk. A terminal
 * that has hung up also fails with EIO, and permanently. */
static bool may_pass(const struct console *c, int number) {
    switch (number) {
    case EINTR:
    case EAGAIN:
        return true;
    case EIO:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case ENOBUFS:
    case ENOLCK:
    case ESTALE:
    case ETIMEDOUT:
        return !c->writer.own && !c->writer.socket;
    default:
        return false;
    }
}

/* Takes the status line from the screen. Returns false if the terminal takes nothing now. */
static bool erase_status(struct console *c) {
    static const char erase[] = "\r\x1b[K";
    if (c->shown && nonblocking_writer_write(&c->writer, erase, sizeof(erase) - 1) <= 0)
        return false;
    c->shown = false;
    return true;
}

/* Shows the status line if nothing else waits. It needs no room in a queue: if it cannot be
 * written, the next call draws it anew. */
static void show_status(struct console *c) {
    if (c->status_size == 0 || c->shown || c->broken || console_waiting(c) > 0)
        return;
    c->shown = nonblocking_writer_write(&c->writer, c->status, c->status_size) > 0;
}

/* Writes one piece. Returns false if nothing was written. An error that does not pass makes the
 * console broken. */
static bool write_piece(struct console *c) {
    if (!erase_status(c) && may_pass(c, errno))
        return false;
    struct console_queue *q = next(c);
    const char *data = q->bytes.data;
    size_t size = q->bytes.size;
    if (q == &c->lines && q->begun && c->words.bytes.size > 0)
        size = rest_of_first(q);
    ssize_t sent = nonblocking_writer_write(&c->writer, data, nonblocking_writer_piece(data, size));
    c->full = sent < 0 && errno != EINTR && errno != EAGAIN;
    c->was_full |= c->full;
    if (sent < 0 && !may_pass(c, errno)) {
        c->broken = true;
        c->words.bytes.size = c->lines.bytes.size = 0;
        c->words.begun = c->lines.begun = false;
        c->dropped = 0;
        return false;
    }
    if (sent <= 0)
        return false;
    q->begun = data[sent - 1] != '\n';
    buf_consume(&q->bytes, (size_t)sent);
    if (console_waiting(c) == 0 && c->dropped > 0)
        print_dropped(c);
    return true;
}

/* Writes as much as the descriptor takes now. */
static void push(struct console *c) {
    while (console_waiting(c) > 0 && write_piece(c))
        ;
    show_status(c);
}

/* Nothing can be written now: an empty queue needs no watch, and a full descriptor is tried again
 * later. */
static void rest(struct console *c) {
    loop_unwatch(c->loop, &c->watch);
    if (console_waiting(c) > 0)
        loop_after(c->loop, &c->retry, c->full ? room_after : retry_after);
}

/* Plain files cannot be watched with epoll; they accept data while their disk has room. */
static void await_room(void *context) {
    struct console *c = context;
    if (console_waiting(c) == 0 || loop_watch(c->loop, &c->watch, EPOLLOUT, NULL) == 0)
        return;
    push(c);
    rest(c);
}

/* One piece at a time, so that a fast reader does not keep the loop from its other work. */
static void ready(void *context, uint32_t events) {
    struct console *c = context;
    (void)events;
    if (console_waiting(c) == 0 || !write_piece(c) || console_waiting(c) == 0)
        rest(c);
    show_status(c);
}

/* --- interface ------------------------------------------------------------------------------- */

void console_init(struct console *c, struct loop *loop, int fd) {
    *c = (struct console){.loop = loop, .printed_at = clock_now() - notice_interval};
    nonblocking_writer_open(&c->writer, fd);
    c->terminal = terminal_can_rewrite(fd);
    c->colour = terminal_has_colour(fd);
    c->watch = (struct watch){.fd = c->writer.fd, .ready = ready, .context = c};
    c->retry = (struct timer){.fire = await_room, .context = c};
    buf_init(&c->words.bytes, CONSOLE_WORDS_MAX);
    buf_init(&c->lines.bytes, CONSOLE_QUEUE_MAX);
}

/* Lines that still wait are lost; console_flush() comes before. */
void console_done(struct console *c) {
    if (c->loop == NULL)
        return;
    loop_unwatch(c->loop, &c->watch);
    loop_cancel(c->loop, &c->retry);
    nonblocking_writer_close(&c->writer);
    buf_done(&c->words.bytes);
    buf_done(&c->lines.bytes);
}

bool console_is_terminal(const struct console *c) {
    return c->terminal;
}

/* On anything but a terminal it does nothing. FRACTION below 0: no bar. */
void console_status(struct console *c, double fraction, const char *text) {
    if (!c->terminal || c->broken)
        return;
    if (text[0] == '\0') {
        c->status_size = 0;
        (void)erase_status(c);
        return;
    }
    c->status_size =
        status_line_draw(c->status, terminal_columns(c->writer.fd), c->colour, fraction, text);
    c->shown = false; /* the text itself begins by erasing the line */
    show_status(c);
}

/* If nothing is being waited for, the line is written at once as far as possible. */
static void add(struct console *c, struct console_queue *q, const char *line, size_t size) {
    if (c->broken)
        return;
    put(c, q, line, size);
    if (!c->watch.active && !c->retry.active)
        await_room(c);
}

void console_line(struct console *c, const char *line, size_t size) {
    add(c, &c->lines, line, size);
}

void console_word(struct console *c, const char *line, size_t size) {
    if (!c->full)
        push(c);
    add(c, &c->words, line, size);
    if (!c->full)
        push(c);
}

static void write_until(struct console *c, int64_t deadline) {
    while (console_waiting(c) > 0 && clock_left_ms(deadline) > 0 &&
           nonblocking_writer_wait(&c->writer, deadline))
        if (!write_piece(c) && console_waiting(c) > 0)
            (void)poll(NULL, 0, (int)(retry_after / CLOCK_MILLISECOND));
}

/* Replaces the rest of the partly written line by a mark. The mark is shorter than what it
 * replaces, or nothing is replaced. */
static void cut_begun(struct console *c) {
    static const char mark[] = " [cut: this log is read too slowly]\n";
    struct buf *bytes = &c->lines.bytes;
    size_t rest = rest_of_first(&c->lines);
    if (rest < sizeof(mark))
        return;
    memcpy(bytes->data, mark, sizeof(mark) - 1);
    memmove(bytes->data + sizeof(mark) - 1, bytes->data + rest, bytes->size - rest);
    bytes->size -= rest - (sizeof(mark) - 1);
}

/* Twice: first with the time that is left before the end itself must be written, as the slowest
 * reader would need it, and then the end. What is dropped between the two is counted in a notice.
 */
void console_flush(struct console *c, int64_t deadline) {
    console_status(c, -1, "");
    push(c);
    size_t last =
        c->words.bytes.size + (size_t)2 * CONSOLE_LAST_LINES; /* the timer may fire late */
    write_until(c, deadline - (int64_t)last * CLOCK_SECOND / CONSOLE_READER_LEAST);
    if (c->lines.begun)
        cut_begun(c);
    if (c->lines.bytes.size > CONSOLE_LAST_LINES)
        drop_oldest(c, &c->lines, c->lines.bytes.size - CONSOLE_LAST_LINES);
    if (c->dropped > 0)
        print_dropped(c);
    write_until(c, deadline);
}

/* --- the log --------------------------------------------------------------------------------- */

/* Sink of the log, in place of the one that writes to the descriptor and may block. */
static void put_word(void *context, const char *line, size_t size) {
    const struct log_console *w = context;
    console_word(w->to, line, size);
}

void log_console_open(struct log_console *w, struct loop *loop, int fd, struct console *out) {
    *w = (struct log_console){.to = out};
    if (!nonblocking_writer_same(fd, out->writer.fd)) {
        console_init(&w->own, loop, fd);
        w->to = &w->own;
    }
    w->before = log_set_sink((struct log_sink){put_word, w});
}

void log_console_close(struct log_console *w, int64_t deadline) {
    if (w->to == NULL)
        return;
    (void)log_set_sink(w->before);
    console_flush(w->to, deadline);
    console_done(&w->own);
    *w = (struct log_console){0};
}
