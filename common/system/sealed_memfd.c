#include "common/system/sealed_memfd.h"

#include "common/cleanup.h"
#include "common/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

/* Nothing can be written, grown or cut off afterwards, and F_SEAL_SEAL fixes the seals themselves.
 * A reader that has checked them can map or parse the bytes without fearing that they change
 * meanwhile. */
enum { SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL };

/* MFD_NOEXEC_SEAL, which the headers of older kernels lack. */
enum { NOEXEC_SEAL = 8 };

/* Memory that may be executed is refused where the sysctl vm.memfd_noexec is 2. Kernels before 6.3
 * do not know the flag. */
int sealed_memfd_open(const char *name, struct error *err) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd >= 0 ? fd : error_set_errno(err, EXIT_CODE_INTERNAL, "memory for %s", name);
}

int sealed_memfd_seal(int fd, const char *name, struct error *err) {
    return fcntl(fd, F_ADD_SEALS, SEALS) == 0
               ? 0
               : error_set_errno(err, EXIT_CODE_INTERNAL, "sealing %s", name);
}

/* Seals are added last, since sealed memory accepts no write. The descriptor is closed on every
 * failure. */
int sealed_memfd_make(const char *name, const void *bytes, size_t size, struct error *err) {
    cleanup_fd int fd = sealed_memfd_open(name, err);
    if (fd < 0 || file_write_all(fd, bytes, size, err) != 0 ||
        sealed_memfd_seal(fd, name, err) != 0)
        return -1;
    return take_fd(&fd);
}

/* F_SEAL_EXEC, which the headers of older kernels lack. MFD_NOEXEC_SEAL sets it. */
enum { EXEC_SEAL = 0x20 };

/* A pipe or an ordinary file answers F_GET_SEALS with an error. */
int sealed_memfd_seals(int fd) {
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 ? seals & ~EXEC_SEAL : -1;
}

bool sealed_memfd_is(int fd) {
    return sealed_memfd_seals(fd) == SEALS;
}
