/* Kinds of control messages: the list in messages.def as an enum, with constructors and a printed
 * table.
 *
 * A message is a frame (frame.h) with a "type" in the list. One from a peer may have any type:
 * MESSAGE_UNKNOWN. Members are checked by the receiver. */
#ifndef ENTRYPOINT_WIRE_MESSAGE_H
#define ENTRYPOINT_WIRE_MESSAGE_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

enum message {
    MESSAGE_UNKNOWN,
#define MESSAGE(kind, type, way, members, text) MESSAGE_##kind,
#include "entrypoint/wire/messages.def"
#undef MESSAGE
    MESSAGE_COUNT,
};

enum message message_kind(const json_t *message);
/* The type on the wire; "" of MESSAGE_UNKNOWN. */
const char *message_type(enum message kind);

/* A message without members, or with all of MEMBERS, of which it takes over the reference. NULL
 * where memory is out or MEMBERS is NULL. */
json_t *message_new(enum message kind);
json_t *message_with(enum message kind, json_t *members);
/* One in the form of another version of the protocol: MESSAGE_JOIN and MESSAGE_REFUSE alone. */
json_t *message_new_for(int64_t version, enum message kind);

/* Appends the list in Markdown, as docs/reference/protocol.md has it. */
int message_page(struct buf *ret, struct error *err);

#endif
