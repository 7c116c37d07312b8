/* An archive of code (tar, also packed by gzip, bzip2, xz or zstd) unpacked into a folder by
 * libarchive. What is in it is a stranger's: only files, folders and links that stay inside are
 * made, never through a link, with plain modes, and with ceilings on how many and how large. */
#ifndef ENTRYPOINT_TRANSFER_DISK_UNPACK_H
#define ENTRYPOINT_TRANSFER_DISK_UNPACK_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum { UNPACK_ENTRIES_MAX = 100 * 1000 };
#define UNPACK_BYTES_MAX (INT64_C(16) << 30)

/* From the descriptor FD, from its beginning, into ROOT. COUNT gets the number of files. */
int unpack(int fd, int root, size_t *ret_count, struct error *err);

#endif
