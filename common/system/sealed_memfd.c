#include "common/system/sealed_memfd.h"

#include "common/cleanup.h"
#include "common/file/file.h"

#include <fcntl.h>
#include <sys/mman.h>

/* Nothing can be written, grown or cut off afterwards, and F_SEAL_SEAL fixes the seals themselves.
 * A reader that has checked them can map or parse the bytes without fearing that they change
 * meanwhile. */
enum { SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL };

/* Seals are added last, since sealed memory accepts no write. The descriptor is closed on every
 * failure. */
int sealed_memfd_make(const char *name, const void *bytes, size_t size, struct error *err) {
    cleanup_fd int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "memory for %s", name);
    if (file_write_all(fd, bytes, size, err) != 0)
        return -1;
    if (fcntl(fd, F_ADD_SEALS, SEALS) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "sealing %s", name);
    return take_fd(&fd);
}

/* A pipe or an ordinary file answers F_GET_SEALS with an error, which is no such memory either. */
bool sealed_memfd_is(int fd) {
    return fd >= 0 && fcntl(fd, F_GET_SEALS) == SEALS;
}
