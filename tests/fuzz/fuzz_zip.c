/* Zip archives: whatever the bytes are, opening ends, and each member comes out with the size and
 * the checksum that the directory gives it, or is an error of the data. */
#include "tests/fuzz/check.h"
#include "trainer/data/archive/member_path.h"
#include "trainer/data/archive/zip.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMBERS_MAX = 64 };

static void extract(const struct zip *zip, const struct zip_member *member) {
    struct error err = {0};
    struct stat status;
    const int fd = memfd_create("member", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(strlen(member->path) > 0);
    (void)member_path_is_safe(member->path);
    if (zip_extract(zip, member, fd, &err) == 0)
        CHECK(fstat(fd, &status) == 0 && (uint64_t)status.st_size == member->size);
    else
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct zip zip = ZIP_CLOSED;
    struct error err = {0};
    char path[64];
    const int fd = memfd_create("zip", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (zip_open(&zip, path, &err) != 0) {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0] != '\0');
        CHECK(zip.members == NULL && zip.count == 0);
    }
    for (size_t i = 0; i < zip.count && i < MEMBERS_MAX; i++)
        extract(&zip, &zip.members[i]);
    zip_done(&zip);
    close(fd);
    return 0;
}
