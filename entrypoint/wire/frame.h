/* Message framing between supervisors, shims and agents: a length (u32, big-endian), then that many
 * bytes of JSON.
 *
 * The JSON is an object with "v": FRAME_VERSION as its first member. A read may hold part of a
 * frame or several. A peer may send anything, so everything is checked before use.
 *
 * A change to the meaning of messages raises FRAME_VERSION. Two messages are the same in all
 * versions, so that incompatible builds can tell each other: `join` with "host", "fault_code" and
 * "fault_text", and its answer, `refuse` with "code" and "text". */
#ifndef ENTRYPOINT_WIRE_FRAME_H
#define ENTRYPOINT_WIRE_FRAME_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

enum { FRAME_VERSION = 4, FRAME_MAX = 64 * 1024, FRAME_HEADER = 4 };

/* Returns a message with no members but "v" and "type"; NULL when out of memory. */
json_t *frame_new(const char *type);
/* Returns a message with MEMBERS added. Takes over the reference of MEMBERS. NULL if that is NULL
 * or memory is out. */
json_t *frame_with(const char *type, json_t *members);
/* Returns an empty message of another version, for `join` and `refuse` only. */
json_t *frame_new_for(int64_t version, const char *type);
/* Returns the type of a message from frame_take(). */
const char *frame_type(const json_t *message);

/* Appends MESSAGE to OUT; OUT's maximum limits the queue. */
int frame_put(struct buf *out, const json_t *message, struct error *err);

/* Returns the size of the frame at AT; its header must be there. */
size_t frame_size(const char *at);

/* Returns the version of a message from frame_take(). */
int64_t frame_version(const json_t *message);

/* Takes the first frame off IN, of any version. Returns 1 with *RET (owned by the caller), 0 if it
 * is not complete yet, -1 if it is invalid: the stream is useless then. */
int frame_take(struct buf *in, json_t **ret, struct error *err);

/* Sets the error that PEER speaks VERSION, which this build does not. */
int frame_error_version(struct error *err, const char *peer, int64_t version);

#endif
