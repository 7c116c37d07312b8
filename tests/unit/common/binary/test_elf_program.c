#include "common/binary/elf_program.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A program with two segments, the second of which names its loader. */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    char loader[ELF_LOADER_SIZE + 1];
};

static struct image musl_program(void) {
    static const char loader[] = "/lib/ld-musl-aarch64.so.1";
    struct image image = {.segments = {{.p_type = PT_PHDR},
                                       {.p_type = PT_INTERP,
                                        .p_offset = offsetof(struct image, loader),
                                        .p_filesz = sizeof(loader)}}};
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    image.header.e_machine = EM_AARCH64;
    image.header.e_phoff = offsetof(struct image, segments);
    image.header.e_phentsize = sizeof(image.segments[0]);
    image.header.e_phnum = 2;
    memcpy(image.loader, loader, sizeof(loader));
    return image;
}

static bool look(const void *bytes, size_t size, struct elf_program *ret) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/program", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_put(path, bytes, size, 0600, NULL), 0);
    return elf_program_read(path, ret);
}

/* Its loader cannot be read, its processor can. */
static void no_loader(const struct image *image, size_t size) {
    struct elf_program program;
    CU_ASSERT_TRUE(look(image, size, &program));
    CU_ASSERT_STRING_EQUAL(program.processor, "arm64");
    CU_ASSERT_STRING_EQUAL(program.loader, "");
}

static void processor_and_loader_are_read(void) {
    struct image image = musl_program();
    struct elf_program program;
    CU_ASSERT_TRUE(look(&image, sizeof(image), &program));
    CU_ASSERT_STRING_EQUAL(program.processor, "arm64");
    CU_ASSERT_STRING_EQUAL(program.loader, "/lib/ld-musl-aarch64.so.1");
    image.header.e_machine = EM_X86_64;
    CU_ASSERT_TRUE(look(&image, sizeof(image), &program));
    CU_ASSERT_STRING_EQUAL(program.processor, "x86-64");
    image.header.e_machine = 4711;
    CU_ASSERT_TRUE(look(&image, sizeof(image), &program));
    CU_ASSERT_STRING_EQUAL(program.processor, "ELF machine 4711");
}

static void this_program_names_its_own(void) {
    struct elf_program program;
    CU_ASSERT_TRUE(elf_program_read("/proc/self/exe", &program));
    CU_ASSERT_STRING_NOT_EQUAL(program.processor, "");
    ASSERT_CONTAINS(program.loader, "/ld-");
}

/* The same place in a file of 32 bits, and the other way round in a big-endian one. */
static void other_words_and_orders_have_a_processor(void) {
    struct image image = musl_program();
    struct elf_program program;
    image.header.e_ident[EI_CLASS] = ELFCLASS32;
    image.header.e_machine = EM_ARM;
    CU_ASSERT_TRUE(look(&image, sizeof(image), &program));
    CU_ASSERT_STRING_EQUAL(program.processor, "32-bit ARM");
    CU_ASSERT_STRING_EQUAL(program.loader, "");
    image = musl_program();
    image.header.e_ident[EI_DATA] = ELFDATA2MSB;
    image.header.e_machine = EM_S390 << 8;
    CU_ASSERT_TRUE(look(&image, sizeof(image), &program));
    CU_ASSERT_STRING_EQUAL(program.processor, "s390");
    CU_ASSERT_STRING_EQUAL(program.loader, "");
}

static void damaged_files_have_no_loader(void) {
    struct image image = musl_program();
    no_loader(&image, offsetof(struct image, loader) + 4);
    no_loader(&image, offsetof(struct image, segments) + 9);
    no_loader(&image, 20);
    image.segments[1].p_offset = UINT64_MAX - 3;
    no_loader(&image, sizeof(image));
    image = musl_program();
    image.segments[1].p_filesz = ELF_LOADER_SIZE + 1;
    no_loader(&image, sizeof(image));
    image.segments[1].p_filesz = UINT64_MAX;
    no_loader(&image, sizeof(image));
    image.segments[1].p_filesz = 0;
    no_loader(&image, sizeof(image));
    image = musl_program();
    memset(image.loader, 'x', sizeof(image.loader)); /* its end is not marked */
    no_loader(&image, sizeof(image));
    image = musl_program();
    image.loader[3] = '\n';
    no_loader(&image, sizeof(image));
    image = musl_program();
    image.header.e_phoff = UINT64_MAX;
    no_loader(&image, sizeof(image));
    image = musl_program();
    image.header.e_phnum = UINT16_MAX;
    image.segments[1].p_type = PT_NOTE;
    no_loader(&image, sizeof(image));
    image = musl_program();
    image.header.e_phentsize = 1;
    no_loader(&image, sizeof(image));
}

static void what_is_no_program_is_none(void) {
    struct elf_program program;
    CU_ASSERT_FALSE(look("#!/bin/sh\n", 10, &program));
    CU_ASSERT_FALSE(look("", 0, &program));
    CU_ASSERT_FALSE(look(ELFMAG, SELFMAG, &program));
    CU_ASSERT_STRING_EQUAL(program.processor, "");
    CU_ASSERT_FALSE(elf_program_read("/no/such/file", &program));
    CU_ASSERT_FALSE(elf_program_read("/", &program));
}

UNIT_SUITE("common.binary.elf_program", UNIT(processor_and_loader_are_read),
           UNIT(this_program_names_its_own), UNIT(other_words_and_orders_have_a_processor),
           UNIT(damaged_files_have_no_loader), UNIT(what_is_no_program_is_none))
