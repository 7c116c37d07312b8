#include "common/binary/elf_program.h"

#include "common/binary/little_endian.h"
#include "common/cleanup.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The processor's number lies at the same place in headers of 32 and 64 bits. */
enum { SEGMENTS_MAX = 128, PROCESSOR_END = offsetof(Elf64_Ehdr, e_version) };

static unsigned processor_number(const Elf64_Ehdr *header) {
    const uint8_t *bytes = (const uint8_t *)&header->e_machine;
    return header->e_ident[EI_DATA] == ELFDATA2MSB ? (unsigned)bytes[0] << 8 | bytes[1]
                                                   : (unsigned)little_endian_get(bytes, 2);
}

static void name_processor(unsigned number, char ret[ELF_PROCESSOR_SIZE]) {
    static const struct {
        unsigned number;
        const char *name;
    } known[] = {{EM_X86_64, "x86-64"},  {EM_AARCH64, "arm64"}, {EM_386, "32-bit x86"},
                 {EM_ARM, "32-bit ARM"}, {EM_PPC64, "ppc64"},   {EM_S390, "s390"},
                 {EM_RISCV, "RISC-V"}};
    (void)snprintf(ret, ELF_PROCESSOR_SIZE, "ELF machine %u", number);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].number == number)
            (void)snprintf(ret, ELF_PROCESSOR_SIZE, "%s", known[i].name);
}

static bool read_at(int fd, uint64_t offset, void *ret, size_t size) {
    return offset <= INT64_MAX - size && pread(fd, ret, size, (off_t)offset) == (ssize_t)size;
}

/* For a line of text, whatever a file names. */
static bool is_printable(const char *text) {
    while (*text > ' ' && *text < 0x7f)
        text++;
    return *text == '\0';
}

static bool read_loader(int fd, const Elf64_Ehdr *header, char ret[ELF_LOADER_SIZE]) {
    for (size_t i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
        Elf64_Phdr segment;
        if (header->e_phoff > INT64_MAX / 2 ||
            !read_at(fd, header->e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
            return false;
        if (segment.p_type == PT_INTERP)
            return segment.p_filesz > 1 && segment.p_filesz <= ELF_LOADER_SIZE &&
                   read_at(fd, segment.p_offset, ret, (size_t)segment.p_filesz) &&
                   ret[segment.p_filesz - 1] == '\0' && is_printable(ret);
    }
    return false;
}

bool elf_program_read(const char *path, struct elf_program *ret) {
    Elf64_Ehdr header = {0};
    *ret = (struct elf_program){0};
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || pread(fd, &header, sizeof(header), 0) < PROCESSOR_END ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    name_processor(processor_number(&header), ret->processor);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_phentsize != sizeof(Elf64_Phdr) || !read_loader(fd, &header, ret->loader))
        ret->loader[0] = '\0';
    return true;
}
