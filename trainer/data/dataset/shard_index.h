/* Index of a set in shards: a file beside them that holds what a scan of them finds, so that a
 * start reads one file in place of the headers of all samples.
 *
 * Numbers are little-endian. A head of 100 bytes, then three sections without gaps:
 *
 *     head    "RTIX", version u32, name of the format char[16], shards u32, classes u32,
 *             samples u64, samples that have a name of their own u64; for each section its size
 *             u64, CRC32C u32 and 0 u32; CRC32C u32 of the 96 bytes before it
 *     shards  for each: size u64, CRC32C u32 of its first 4 KiB, CRC32C u32 of its last 4 KiB
 *     rows    for each sample, in the order of a scan: offset u64, id u64, bytes u32, bytes of the
 *             picture u32, shard u32, class name i32 (-1: none), label i32 (-1: none)
 *     texts   names of the shards, of the classes and of the samples, each with its NUL
 *
 * An index belongs to shards by their names, sizes and ends, whatever their times: a copy of them
 * keeps it, and a shard that was made anew does not. A shard that was changed in its middle alone
 * is not noticed. Names of classes beside the shards (format/class_names.h) are no part of it. */
#ifndef TRAINER_DATA_DATASET_SHARD_INDEX_H
#define TRAINER_DATA_DATASET_SHARD_INDEX_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/data/dataset/shard_rows.h"
#include "trainer/data/format/shard_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARD_INDEX_HEAD = 100, SHARD_INDEX_STAMP = 16, SHARD_INDEX_ROW = 36 };

/* Writes the path of the index of these shards: what their names have in common, and ".rtix", in
 * their folder (train.rtix of train-00000-of-00008.tar and so on). */
int shard_index_path(const struct shard_list *files, char path[4096], struct error *err);

/* Replaces OUT by the index of ROWS, as a scan of FILES has found them. EXIT_CODE_DATA: they do not
 * fit into one. */
int shard_index_pack(struct buf *out, const struct shard_rows *rows, const struct shard_list *files,
                     struct error *err);

/* Fills ROWS, which were just initialized, from the SIZE bytes of an index of FILES; reads the ends
 * of these. EXIT_CODE_DATA, with ROWS in any state: it is damaged, or of other shards; the error
 * does not name it. */
int shard_index_unpack(struct shard_rows *rows, const void *bytes, size_t size,
                       const struct shard_list *files, struct error *err);

/* Counts the samples that begin at offsets from BEGIN to END of shard number SHARD, as the index of
 * FILES has them, whether or not the shards have changed since. Returns false if there is no index
 * that knows this shard. */
bool shard_index_count(const struct shard_list *files, size_t shard, uint64_t begin, uint64_t end,
                       uint64_t *ret);

/* Reads the index of FILES, if there is one that belongs to them (*RET_USED). WHY tells of one that
 * cannot be used, and names it; code 0: there is none. ROWS have to be initialized; they are empty
 * if nothing was used. */
void shard_index_read(struct shard_rows *rows, const struct shard_list *files, bool *ret_used,
                      struct error *why);

#endif
