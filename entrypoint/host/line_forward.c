#include "entrypoint/host/line_forward.h"

#include "common/str.h"
#include "entrypoint/os/line_splitter.h"
#include "entrypoint/wire/link.h"
#include "entrypoint/wire/message.h"

enum {
    QUEUE_MAX = LINK_QUEUE_MAX / 2,
    PART_MAX = 30 * 1024, /* fits into a message even if every byte must be escaped */
};
_Static_assert(QUEUE_MAX + 3 * LINE_SPLITTER_MAX < LINK_QUEUE_MAX, "a line more, all escaped");

static void send_message(struct line_forward *f, const char *text, size_t size) {
    json_t *message = message_new(MESSAGE_LINE);
    if (f->dropped > 0)
        (void)json_object_set_new(message, "dropped", json_integer((json_int_t)f->dropped));
    (void)json_object_set_new(message, "text", json_stringn(text, size));
    f->dropped = 0;
    f->send(f->context, message);
}

void line_forward(struct line_forward *f, const char *line, size_t size) {
    if (f->queued(f->context) > QUEUE_MAX) {
        f->dropped++;
        return;
    }
    while (size > 0) {
        size_t part = str_utf8_prefix(line, size, PART_MAX);
        send_message(f, line, part);
        line += part;
        size -= part;
    }
}

void line_forward_end(struct line_forward *f) {
    if (f->dropped > 0)
        send_message(f, "", 0);
}
