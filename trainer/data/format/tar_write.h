/* Samples written to a tar archive in WebDataset's naming: CLASS/NAME.jpg, then CLASS/NAME.cls.
 *
 * Owners, modes and times are constant, so that the same samples give the same bytes. A dot within
 * NAME is written as "%2E", as WebDataset's key ends at the first one, and "%" as "%25". */
#ifndef TRAINER_DATA_FORMAT_TAR_WRITE_H
#define TRAINER_DATA_FORMAT_TAR_WRITE_H

#include "common/buf.h"
#include "trainer/data/format/shard_sample.h"

int tar_write_sample(struct buf *out, const struct shard_record *record, struct error *err);
/* Two blocks of zeros. */
int tar_write_end(struct buf *out, struct error *err);

#endif
