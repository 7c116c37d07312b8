/* A file copied into a folder of this machine, or one that is mounted here (file://): under another
 * name until it is whole and on disk. */
#ifndef ENTRYPOINT_TRANSFER_DISK_COPY_H
#define ENTRYPOINT_TRANSFER_DISK_COPY_H

#include "common/error.h"

#include <stdint.h>

/* SIZE bytes of FD, from its beginning, to PATH below FOLDER, which is made where it is missing. */
int copy_file(int fd, int64_t size, const char *folder, const char *path, struct error *err);

/* Whether files can be made in FOLDER. */
int copy_probe(const char *folder, struct error *err);

#endif
