/* Descriptors sent over a unix socket together with bytes (SCM_RIGHTS). */
#ifndef ENTRYPOINT_WIRE_PASSED_FDS_H
#define ENTRYPOINT_WIRE_PASSED_FDS_H

#include <stddef.h>
#include <sys/types.h>

enum { PASSED_FDS_MAX = 3 };

/* Like recv(), without blocking. Received descriptors are added to FDS (of PASSED_FDS_MAX,
 * close-on-exec, owned by the caller), or closed if that is full. */
ssize_t passed_fds_receive(int socket, void *bytes, size_t size, int *fds, size_t *fd_count);

/* Like send() with FLAGS; COUNT (at most PASSED_FDS_MAX) copies of FDS go with the first byte. */
ssize_t passed_fds_send(int socket, const void *bytes, size_t size, const int *fds, size_t count,
                        int flags);

#endif
