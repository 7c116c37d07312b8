/* The failure file, of which SageMaker shows the first 1,024 characters: first line
 * "CLASS: algo-3 rank 2: exited with 42", then what the kernel says of it, a hint (explain.h), and
 * the last lines of that rank. */
#ifndef ENTRYPOINT_OUTCOME_FAILURE_FILE_H
#define ENTRYPOINT_OUTCOME_FAILURE_FILE_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/outcome/verdict.h"

#include <stdbool.h>
#include <stdint.h>

enum { FAILURE_FILE_MAX = 1024 };

/* At most FAILURE_FILE_MAX bytes of valid UTF-8, secrets blotted out. Of lines that do not fit the
 * last are kept, and the last one that tells of an error, where none of these does; the hint comes
 * where there is room for some of them beside it. */
int failure_file_text(const struct verdict *v, struct buf *ret, struct error *err);

/* The functions below access the disk, without fsync: the file has no reader after a power cut. A
 * disk may stall, so a process with a loop leaves this to a child (observe/failure_writer.h). */

/* Writes BASE_DIR/output/failure for a verdict that is not success, into the reserve's room, unless
 * the program has left something there: *RET_KEPT says so. An empty file counts as none. Makes no
 * BASE_DIR: where there is none, it fails. */
int failure_file_write(const char *base_dir, const struct verdict *v, bool *ret_kept,
                       struct error *err);

/* Removes what an earlier run of this container left, which would pass for this one's; where
 * the disk stalls until DEADLINE it stays, because by then it may be the program's own. */
void failure_file_clear(const char *base_dir, int64_t deadline);

/* Returns true if there is a non-empty failure file, or a success file. */
bool failure_file_exists(const char *base_dir);

/* Reserves the room for the file under another name, so that it can be written even if the disk is
 * full by then. Without BASE_DIR nothing is made. */
enum { FAILURE_FILE_ROOM = 4096 };
int failure_file_reserve(const char *base_dir, struct error *err);
/* For success: gives it back, and leaves BASE_DIR/output/success, an empty file, as SageMaker's
 * toolkit does. */
void failure_file_none(const char *base_dir);

#endif
