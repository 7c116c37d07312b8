/* Copying of a file into a local or mounted directory (file://): it has another name until it is
 * complete and on disk. */
#ifndef ENTRYPOINT_TRANSFER_DISK_COPY_H
#define ENTRYPOINT_TRANSFER_DISK_COPY_H

#include "common/error.h"

#include <stdint.h>

/* Copies SIZE bytes of FD, from its beginning, to PATH below FOLDER, which is created if missing.
 */
int copy_file(int fd, int64_t size, const char *folder, const char *path, struct error *err);

/* Checks that files can be created in FOLDER. */
int copy_probe(const char *folder, struct error *err);

#endif
