/* Reads a program's file: its processor, its loader and the libraries that it needs. Whatever the
 * file contains, names are terminated, and the loader's fits into a line of text. */
#include "common/binary/elf_program.h"
#include "common/cleanup.h"
#include "entrypoint/job/needed_libraries.h"
#include "tests/fuzz/check.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool wants_none(const char *library) {
    CHECK(memchr(library, '\0', NEEDED_LIBRARY_SIZE) != NULL);
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    char library[NEEDED_LIBRARY_SIZE];
    struct elf_program program;
    cleanup_fd int fd = memfd_create("program", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    bool is_elf = elf_program_read(path, &program);
    CHECK(memchr(program.processor, '\0', sizeof(program.processor)) != NULL);
    CHECK(memchr(program.loader, '\0', sizeof(program.loader)) != NULL);
    CHECK(is_elf == (program.processor[0] != '\0'));
    for (const char *at = program.loader; *at != '\0'; at++)
        CHECK(*at > ' ' && *at < 0x7f);
    CHECK(!needed_libraries_find(path, wants_none, library) && library[0] == '\0');
    return 0;
}
