/* The failure file, of which SageMaker shows the first 1,024 characters: first line
 * "CLASS: algo-3 rank 2: exited with 42", then the last lines of that rank. */
#ifndef ENTRYPOINT_FAILURE_H
#define ENTRYPOINT_FAILURE_H

#include "common/buf.h"
#include "common/error.h"
#include "entrypoint/verdict.h"

#include <stdbool.h>

enum { FAILURE_MAX = 1024 };

/* At most FAILURE_MAX bytes of valid UTF-8, secrets blotted out. Of lines that do not fit the
 * last are kept. */
int failure_text(const struct verdict *v, struct buf *ret, struct error *err);

/* Writes BASE_DIR/output/failure for a verdict that is not success, unless the program has left one
 * there: *RET_KEPT says so. */
int failure_write(const char *base_dir, const struct verdict *v, bool *ret_kept, struct error *err);

/* Removes a file that an earlier run of this container left, which would pass for this one's. */
void failure_clear(const char *base_dir);

#endif
