/* The unit of talk between supervisors, shims and agents: a length (u32, big-endian), then that
 * many bytes of JSON, an object whose first member is "v": FRAME_VERSION. Frames come in pieces and
 * several at a time; a peer may send anything, so nothing is believed before it was checked.
 *
 * Whoever changes what messages mean raises FRAME_VERSION. Two things are the same in all versions,
 * so that builds that do not fit can tell each other: `join` with "host", "fault_code" and
 * "fault_text", and its answer, `refuse` with "code" and "text". */
#ifndef ENTRYPOINT_WIRE_FRAME_H
#define ENTRYPOINT_WIRE_FRAME_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

enum { FRAME_VERSION = 4, FRAME_MAX = 64 * 1024, FRAME_HEADER = 4 };

/* A message without members but "v" and "type". NULL when out of memory. */
json_t *frame_new(const char *type);
/* One with MEMBERS behind these, of which it takes over the reference: all of them, or NULL where
 * that is NULL or memory is out. */
json_t *frame_with(const char *type, json_t *members);
/* An empty one in the words of another version: `join` and `refuse` alone. */
json_t *frame_new_for(int64_t version, const char *type);
/* The type of a message that frame_take() gave. */
const char *frame_type(const json_t *message);

/* Appends MESSAGE to OUT, whose ceiling bounds what may wait there. */
int frame_put(struct buf *out, const json_t *message, struct error *err);

/* Bytes of the whole frame that begins at AT, of which the header is there. */
size_t frame_size(const char *at);

/* The version of a message that frame_take() gave. */
int64_t frame_version(const json_t *message);

/* Takes the first frame off IN, of whichever version. Returns 1 with *RET (the caller's), 0 when it
 * is not complete yet, -1 when it is none: the stream is of no use then. */
int frame_take(struct buf *in, json_t **ret, struct error *err);

/* WHO speaks VERSION and we do not. */
int frame_error_version(struct error *err, const char *who, int64_t version);

#endif
