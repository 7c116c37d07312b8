#include "entrypoint/wire/message.h"

#include "common/table.h"
#include "common/text/markdown.h"
#include "entrypoint/wire/frame.h"

struct message_row {
    const char *type;
    const char *way;
    const char *members;
    const char *text;
};

static const struct message_row rows[MESSAGE_COUNT] = {
    [MESSAGE_UNKNOWN] = {"", "", "", ""},
#define MESSAGE(kind, type, way, members, text) [MESSAGE_##kind] = {type, way, members, text},
#include "entrypoint/wire/messages.def"
#undef MESSAGE
};

enum message message_kind(const json_t *message) {
    const char *type = frame_type(message);
    const struct message_row *row = type != NULL ? TABLE_FIND(rows, type, type) : NULL;
    return row != NULL ? (enum message)(row - rows) : MESSAGE_UNKNOWN;
}

const char *message_type(enum message kind) {
    return rows[kind].type;
}

json_t *message_new(enum message kind) {
    return frame_new(rows[kind].type);
}

json_t *message_with(enum message kind, json_t *members) {
    return frame_with(rows[kind].type, members);
}

json_t *message_new_for(int64_t version, enum message kind) {
    return frame_new_for(version, rows[kind].type);
}

int message_page(struct buf *ret, struct error *err) {
    for (unsigned kind = MESSAGE_UNKNOWN + 1; kind < MESSAGE_COUNT; kind++) {
        const struct message_row *row = &rows[kind];
        cleanup_buf struct buf line;
        buf_init(&line, 1024);
        if (buf_printf(&line, err, "- `%s`, %s: %s.", row->type, row->way, row->text) != 0 ||
            (row->members[0] != '\0' &&
             buf_printf(&line, err, " Members: %s.", row->members) != 0) ||
            markdown_wrap(buf_text(&line), ret, err) != 0)
            return -1;
    }
    return 0;
}
