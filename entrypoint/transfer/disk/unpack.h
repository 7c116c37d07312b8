/* Unpacker of a code archive into a directory, with libarchive. The archive is a tar, also
 * compressed with gzip, bzip2, xz or zstd.
 *
 * The content is untrusted: only files, directories and links that stay inside are created, never
 * through a link, with plain modes, and with limits on number and size. */
#ifndef ENTRYPOINT_TRANSFER_DISK_UNPACK_H
#define ENTRYPOINT_TRANSFER_DISK_UNPACK_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { UNPACK_ENTRIES_MAX = 100 * 1000 };
#define UNPACK_BYTES_MAX (INT64_C(16) << 30)

/* Unpacks from the beginning of FD into ROOT. COUNT gets the number of files. */
int unpack(int fd, int root, size_t *ret_count, struct error *err);

#endif
