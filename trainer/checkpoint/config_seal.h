/* A checksum of a JSON text within it, so that a changed bit is seen:
 *
 *     "checksum": "crc32c:1a2b3c4d",
 *
 * It is taken over the whole text with its own digits as zeros, and is the second member, a line of
 * its own, so that who edits the text can take it out. */
#ifndef TRAINER_CHECKPOINT_CONFIG_SEAL_H
#define TRAINER_CHECKPOINT_CONFIG_SEAL_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_SEAL_KEY "checksum"

/* Appends TEXT, an object of several members, as json_dumps indents it by two, and its checksum to
 * OUT. */
int config_seal_add(struct buf *out, const char *text, struct error *err);

/* Whether TEXT agrees with the checksum in it; PATH names it in the error (EXIT_CODE_DATA).
 * *RET_SEALED is false, without error, where it has none. */
int config_seal_check(const char *text, size_t size, const char *path, bool *ret_sealed,
                      struct error *err);

#endif
