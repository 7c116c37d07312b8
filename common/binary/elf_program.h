/* Processor and loader that an ELF program's own file names.
 *
 * The loader is the one by which the kernel starts it.
 *
 * Only ELF files are known. Of damaged ones, and of those of another word size or byte order than
 * 64 bits, little-endian, no loader is read. Source: the System V ABI, chapters 4 and 5. */
#ifndef COMMON_BINARY_ELF_PROGRAM_H
#define COMMON_BINARY_ELF_PROGRAM_H

#include <stdbool.h>

enum { ELF_PROCESSOR_SIZE = 32, ELF_LOADER_SIZE = 256 };

struct elf_program {
    char processor[ELF_PROCESSOR_SIZE]; /* as people say it: "x86-64", "arm64" */
    char loader[ELF_LOADER_SIZE]; /* "/lib/ld-musl-x86_64.so.1"; printable; "": none, or unknown */
};

/* Reads the file at PATH. Returns false where it cannot be read or is no ELF file; *RET is zeroed
 * then. */
bool elf_program_read(const char *path, struct elf_program *ret);

#endif
