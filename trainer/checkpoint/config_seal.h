/* Checksum of a JSON text, stored within the text. A changed bit is thereby detected:
 *
 *     "checksum": "crc32c:1a2b3c4d",
 *
 * It covers the whole text with its own digits as zeros. It is the second member, on a line of its
 * own, so that a user who edits the text can remove it. */
#ifndef TRAINER_CHECKPOINT_CONFIG_SEAL_H
#define TRAINER_CHECKPOINT_CONFIG_SEAL_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_SEAL_KEY "checksum"

/* Appends TEXT with its checksum to OUT. TEXT is an object of several members, as json_dumps
 * indents it by two. */
int config_seal_add(struct buf *out, const char *text, struct error *err);

/* Fails (EXIT_CODE_DATA, with PATH in the message) if TEXT does not match its checksum.
 * *RET_SEALED is false, without an error, if it has none. */
int config_seal_check(const char *text, size_t size, const char *path, bool *ret_sealed,
                      struct error *err);

#endif
