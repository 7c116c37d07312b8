/* The versions of the libraries that fetch and upload, for `ringmaster version --all`: only
 * ringmaster-transfer has them (supply/transfer_task.h), so it is asked. */
#ifndef ENTRYPOINT_TRANSFER_VERSIONS_H
#define ENTRYPOINT_TRANSFER_VERSIONS_H

#include "common/buf.h"
#include "common/error.h"

enum { TRANSFER_VERSIONS_SECONDS = 10, TRANSFER_VERSIONS_MAX = 4096 };

/* Appends what PROGRAM says when it is called with "version", lines "NAME  VERSION". An error where
 * it cannot be started, ends with another code than 0, or not in time. */
int transfer_versions(const char *program, struct buf *ret, struct error *err);

#endif
